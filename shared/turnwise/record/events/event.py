"""An event before it is numbered: its data, and its place in the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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


@dataclass(frozen=True, kw_only=True, slots=True)
class EventPlace:
    """The task of an event by its path, the turn and the candidate that it belongs to, and the ask that it is about."""

    path: str | None = None
    turn: int | None = None
    candidate: int | None = None
    ask_id: str | None = None


# Of an event about the whole run.
OF_RUN = EventPlace()
