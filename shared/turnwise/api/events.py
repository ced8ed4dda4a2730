"""The events of a run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from turnwise.api.details import AsGiven, EventDetail
from turnwise.api.view import View


class EventView(View):
    """Something that happened in a run; `seq` counts without gaps."""

    seq: int
    type: str
    at: datetime
    run: str
    task: str | None = None
    turn: int | None = None
    candidate: int | None = Field(
        None, validation_alias=AliasChoices("try", "try_", "candidate"), serialization_alias="try"
    )
    ask: str | None = None
    data: Annotated[EventDetail, AsGiven()] | None = None


class EventPage(View):
    """A part of a run's events, in order; `last_event` is the number of the last one that the run has."""

    run: str
    items: list[EventView]
    last_event: int


class DeltaView(View):
    """A piece of an answer that is being written: `llm.delta`. It has no number, and may be lost.

    `offset` counts the characters of this `attempt` at the `ask` before `text`, so that a reader sees what was lost.
    """

    type: Literal["llm.delta"] = "llm.delta"
    run: str
    ask: str
    attempt: int
    offset: int
    text: str


class UnknownNotice(View):
    """Something without a number that a newer server tells between the events; its fields are in `model_extra`."""

    type: str


# Of an event stream.
StreamItem = Annotated[EventView | DeltaView | UnknownNotice, Field(union_mode="left_to_right")]
