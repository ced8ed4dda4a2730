"""The log of a served run, from the events of its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

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


class EventReader:
    """Makes entries of the events of one run, which are given in order."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._root = ""

    def entries(self, event: Json) -> Iterator[Entry]:
        """The entries of one event: none for bookkeeping, two for a task that begins with a message."""
        recorder = self._recorder
        kind, data, at = event["type"], event.get("data") or {}, datetime.fromisoformat(event["at"])
        path, turn = str(event.get("task") or self._root), int(event.get("turn") or 0)
        document = _document(data)
        if kind == "task.started":
            self._root = self._root or path
            yield recorder.started(path, at)
            if document is not None:
                yield recorder.message("given", path, turn, "User", document, at)
        elif kind in ("turn.taken", "turn.rejected") and document is not None:
            yield recorder.message(_kind(kind, data), path, turn, str(data.get("responder", "")), document, at)
        elif kind == "turn.none":
            yield recorder.silent(path, turn, at)
        elif kind == "task.finished":
            yield recorder.finished(path, turn, str(data.get("status") or ""), at)
        elif kind in _ENDS:
            yield recorder.ended(path, str(data.get("status") or ""), _error(data), at)


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
