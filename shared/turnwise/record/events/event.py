"""An event before it is numbered: its data, and its place in the run."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from turnwise.base.json_value import Json


class EventData(Protocol):
    """The data of one type of event; logs, timelines and the API read its JSON, which therefore stays as it is."""

    @property
    def type(self) -> str:
        """The type of the event."""
        ...

    def as_json(self) -> Json:
        """The data as it is kept; `document` names a document to be shown with the event."""
        ...


class EventPlace(NamedTuple):
    """The task of an event by its path, the turn and the candidate that it belongs to, and the ask that it is about."""

    path: str | None = None
    turn: int | None = None
    candidate: int | None = None
    ask_id: str | None = None


# Of an event about the whole run.
OF_RUN = EventPlace()


def event_row(run_id: str, seq: int, type: str, at: float, data: Json, place: EventPlace = OF_RUN) -> Json:
    """An event as its row."""
    return {
        "run_id": run_id,
        "seq": seq,
        "type": type,
        "at": at,
        "path": place.path,
        "turn": place.turn,
        "try_no": place.candidate,
        "ask_id": place.ask_id,
        "data": data,
        "document_id": data.get("document"),
        "changes": None,
    }
