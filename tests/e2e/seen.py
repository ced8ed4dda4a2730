"""Watches a run in this process and writes down what a served run's events would tell."""

from __future__ import annotations

from typing import Any

from tests.e2e.transcript import WHAT, Line, Names, Transcript

from turnwise import ChatDocument, InfiniteLoopException
from turnwise.machine.actions import Trace
from turnwise.messages.wire import encode_document
from turnwise.tasks.local_run import LocalRun


class Seen:
    """The story of one run: documents as they are at that moment, because they may still be changed."""

    def __init__(self) -> None:
        self._names = Names()
        self.lines: list[Line] = []
        self._watched: LocalRun | None = None

    def run_class(self) -> type[LocalRun]:
        """A driver that tells this what it tells the tasks' logs."""
        seen = self

        class Watched(LocalRun):
            def _observe(self, item: Trace) -> None:
                # Not the runs that a handler makes meanwhile.
                seen._watched = seen._watched or self
                if seen._watched is self:
                    seen._add(item)
                super()._observe(item)

        return Watched

    def document(self, doc: ChatDocument | None) -> dict[str, Any] | None:
        """The document as it is compared."""
        return self._names.document(encode_document(doc) if doc is not None else None)

    def transcript(
        self, status_code: str, result: dict[str, Any] | None, error: tuple[str, str] | None = None
    ) -> Transcript:
        return Transcript(lines=tuple(self.lines), status_code=status_code, result=result, error=error)

    def finished(self) -> Transcript:
        """The transcript of a run that came to its end; of one that never began, an empty one."""
        if not self.lines:
            return self.transcript("", None)
        return self.transcript(self.lines[-1].by, self.lines[-1].document)

    def failed(self, raised: Exception) -> Transcript:
        """The transcript of a run that raised; a loop's result is the last end's, other errors have none."""
        error = (type(raised).__name__, str(raised))
        if not isinstance(raised, InfiniteLoopException):
            return self.transcript("ERROR", None, error)
        return self.transcript("INF_LOOP", self.lines[-1].document, error)

    def _add(self, item: Trace) -> None:
        by = item.status.value if item.kind == "finished" and item.status else item.responder
        line = Line(what=WHAT[item.kind], task=item.path, turn=item.turn, by=by, document=self.document(item.document))
        self.lines.append(line)
