"""The log of a run in this process, written while it continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import TracebackType

from turnwise.agents.human.answer_display import AnswerWatcher
from turnwise.machine.actions import Action, Finish, Trace, TraceKind
from turnwise.machine.loops import loop_message
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.transcripts.current import writing
from turnwise.transcripts.entry import Entry, MessageKind, RunTitle
from turnwise.transcripts.recorder import Recorder
from turnwise.transcripts.sink import Sink

_KINDS: dict[TraceKind, MessageKind] = {
    "started": "given",
    "taken": "taken",
    "passed": "passed",
    "null": "null",
    "rejected": "rejected",
}


class RunLog:
    """Takes what the machine traces and gives it to `sinks`; a context manager around the run.

    An error that leaves the block is written down as the run's end.
    """

    def __init__(self, task: str, sinks: Sequence[Sink]) -> None:
        self._task = task
        self._sinks = sinks
        self._recorder = Recorder()
        self._ended = False

    def __enter__(self) -> RunLog:
        for sink in self._sinks:
            sink.open(RunTitle(task=self._task))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None and not self._ended:
            self._end(StatusCode.ERROR.value, (kind.__name__, str(error)))
        for sink in self._sinks:
            sink.close()

    def live(self, path: str) -> AnswerWatcher | None:
        """Return what shows the answer that the model of the task `path` is asked for, while it is written."""
        watchers = (sink.live(path) for sink in self._sinks)
        return next((watcher for watcher in watchers if watcher is not None), None)

    def about(self, item: Trace, tell: Callable[[], None]) -> None:
        """Write down a trace; `tell` tells the task's `log_message` of the message in it, which then writes that."""
        if item.kind == "started":
            self._add(self._recorder.started(item.path, _now()))
        elif item.kind == "none":
            self._add(self._recorder.silent(item.path, item.turn, _now()))
        elif item.kind == "finished":
            status = item.status.value if item.status is not None else ""
            self._add(self._recorder.finished(item.path, item.turn, status, _now()))
        kind = _KINDS.get(item.kind)
        if kind is None:
            return
        token = writing.set(lambda responder, doc, mark: self._message(item, kind, responder, doc, mark))
        try:
            tell()
        finally:
            writing.reset(token)

    def ended(self, finish: Action) -> None:
        """The run came to its end."""
        assert isinstance(finish, Finish), f"the run ended with {finish}"
        error = None
        if finish.status is StatusCode.INF_LOOP:
            error = ("InfiniteLoopException", loop_message(finish.path, finish.loop))
        self._end(finish.status.value, error)

    def _message(self, item: Trace, kind: MessageKind, responder: str, document: ChatDocument, mark: bool) -> None:
        if mark != (kind in ("taken", "passed", "null")):
            kind = "taken" if mark else "rejected"
        self._add(self._recorder.message(kind, item.path, item.turn, responder, document, _now()))

    def _end(self, status: str, error: tuple[str, str] | None) -> None:
        self._ended = True
        self._add(self._recorder.ended(self._task, status, error, _now()))

    def _add(self, entry: Entry) -> None:
        for sink in self._sinks:
            sink.add(entry)


def _now() -> datetime:
    return datetime.now(UTC)
