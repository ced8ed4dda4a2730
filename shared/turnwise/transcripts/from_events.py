"""The log of a served run, from the events of its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import decode_document
from turnwise.transcripts.entry import Entry, MessageKind
from turnwise.transcripts.recorder import Recorder

Json = Mapping[str, Any]

_ENDS = ("run.completed", "run.failed", "run.cancelled")


def entries_of(events: Iterable[Json]) -> Iterator[Entry]:
    """The entries that the same run would have given in one process; `events` in the JSON of the HTTP interface.

    What is only bookkeeping, such as claims and usage, is left out.
    """
    reader = EventReader()
    for event in events:
        yield from reader.entries(event)


class _Call(NamedTuple):
    """A call of a task, by the number of its first event."""

    started: int
    path: str


class EventReader:
    """Makes entries of the events of one run, which are given in order."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._root = ""
        # The calls that are open, outermost first, and those that are over, with the event that ended them.
        self._open: list[_Call] = []
        self._over: list[tuple[int, _Call]] = []

    def entries(self, event: Json) -> Iterator[Entry]:
        """The entries of one event: none for bookkeeping, two for a task that begins with a message."""
        recorder = self._recorder
        kind, data, at = event["type"], event.get("data") or {}, datetime.fromisoformat(event["at"])
        path, turn = str(event.get("task") or self._root), int(event.get("turn") or 0)
        document = _document(data)
        if kind == "task.started":
            self._root = self._root or path
            self._open.append(_Call(event["seq"], path))
            yield recorder.started(path, at)
            if document is not None:
                yield recorder.message("given", path, turn, "User", document, at)
        elif kind in ("turn.taken", "turn.rejected") and document is not None:
            yield recorder.message(_kind(kind, data), path, turn, str(data.get("responder", "")), document, at)
        elif kind == "turn.none":
            yield recorder.silent(path, turn, at)
        elif kind == "task.finished":
            self._close(event["seq"])
            yield recorder.finished(path, turn, str(data.get("status") or ""), at)
        elif kind in _ENDS:
            while self._open:
                self._close(event["seq"])
            yield recorder.ended(path, str(data.get("status") or ""), _error(data), at)
        elif kind == "run.retried":
            self._reopen(data["to"])
            for call in self._open:
                yield recorder.continued(call.path, at)

    def _close(self, seq: int) -> None:
        self._over.append((seq, self._open.pop()))

    def _reopen(self, to: int) -> None:
        """Open the calls again that were open at event `to`; as the run had ended, all are over."""
        self._open = sorted(call for end, call in self._over if call.started <= to < end)
        self._over = [(end, call) for end, call in self._over if end <= to]


def _document(data: Json) -> ChatDocument | None:
    body = data.get("document")
    # No registry: a log shows the fields of a tool, and needs no class for that.
    return decode_document(body, {}) if isinstance(body, Mapping) else None


def _kind(event: str, data: Json) -> MessageKind:
    if event == "turn.rejected":
        return "rejected"
    return "passed" if data.get("passed") else "null" if data.get("null") else "taken"


def _error(data: Json) -> tuple[str, str] | None:
    error = data.get("error")
    return (str(error.get("type", "")), str(error.get("message", ""))) if error else None
