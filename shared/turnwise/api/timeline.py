"""The timeline of a run. Times are RFC 3339 in UTC, durations seconds, `start` seconds since the run began."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from turnwise.api.open_values import OpenValues
from turnwise.api.view import View

# queue, provider, batch, outage, budget, retry, human, parked, session, paused: a wait, for what the name says.
# model, tool, worker: the work of one attempt, and what its worker did beside these.
# lost: work that was thrown away, because its worker died or had to end. move: a coordinator's part.
# over: between an end and a retry. unknown: a program that kept no times recorded it, or a retry has claimed it again.
Kind = Literal[
    "queue",
    "provider",
    "batch",
    "outage",
    "budget",
    "retry",
    "human",
    "parked",
    "session",
    "paused",
    "model",
    "tool",
    "worker",
    "lost",
    "move",
    "over",
    "unknown",
]


Outcome = Literal["answered", "deferred", "lost", "released", "parked", "working", "cut"]


class SpanView(View):
    """A time in which the run worked or waited; the spans of a run neither overlap nor leave a gap."""

    kind: Annotated[Kind, OpenValues()]
    name: str = Field(description="The queue, model, tool, host or provider, as far as there is one.")
    start: float
    seconds: float


class CallView(View):
    """A call of a model or a handler, or a wait within one. Calls within a handler lie within the handler's call."""

    kind: str
    name: str
    start: float
    seconds: float
    first: float | None = Field(description="Seconds until the first piece of the model's text, where it streams.")
    outcome: str | None = Field(description="Of one that failed: rate_limited, failed, cut.")


class AttemptView(View):
    """One claim of the ask by a worker."""

    worker: str | None
    host: str | None
    pid: int | None
    claimed_at: datetime | None
    ended_at: datetime
    outcome: Annotated[Outcome, OpenValues()]
    reason: str | None
    calls: list[CallView]
    calls_left_out: int = Field(description="How many shorter ones there were.")


class ItemView(View):
    """A piece of the run: its beginning, an ask from when it was asked to the move after its answer, the time before a
    retry."""

    no: int
    kind: Annotated[Literal["begin", "ask", "over"], OpenValues()]
    event: int = Field(description="The number of the event that it begins with.")
    task: str
    turn: int
    candidate: int
    ask: str | None
    responder: str = Field(description="llm, agent or human; empty for what is no ask.")
    queue: str | None
    asked_at: datetime
    answered_at: datetime | None
    moved_at: datetime | None
    start: float
    seconds: float
    spans: list[SpanView]
    attempts: list[AttemptView]


class ShareView(View):
    """The time of all spans of one kind and name."""

    kind: Annotated[Kind, OpenValues()]
    name: str
    text: str
    seconds: float
    share: float = Field(description="Of the whole, from 0 to 1.")
    times: int


class TimelineView(View):
    """The timeline of a run: all of it in `summary`, `shares` and `slowest`, and a page of its `items`."""

    run: str
    task: str
    status: str
    began_at: datetime
    ends_at: datetime = Field(description="Of a run that goes on: now.")
    ended: bool
    seconds: float
    summary: str
    shares: list[ShareView]
    slowest: list[ItemView]
    items: list[ItemView]
    total: int = Field(description="How many items there are.")
    next_after: int | None = Field(description="`after` of the next page; null at the end.")
