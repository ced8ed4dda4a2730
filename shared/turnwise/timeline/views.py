"""A timeline as it crosses HTTP. Times are RFC 3339 in UTC, durations seconds, `start` seconds since the run began."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field

from turnwise.timeline.spans import Attempt, Call, Item, Kind, Outcome
from turnwise.timeline.sums import Sum, Sums
from turnwise.timeline.telling import phrase, sentence


class SpanView(BaseModel):
    """What the run did or waited for; the spans of a run neither overlap nor leave a gap."""

    kind: Kind
    name: str = Field(description="The queue, model, tool, host or provider, as far as there is one.")
    start: float
    seconds: float


class CallView(BaseModel):
    """A call of a model or a handler, or a wait within one. Calls within a handler lie within the handler's call."""

    kind: str
    name: str
    start: float
    seconds: float
    first: float | None = Field(description="Seconds until the first piece of the model's text, where it streams.")
    outcome: str | None = Field(description="Of one that failed: rate_limited, failed, cut.")


class AttemptView(BaseModel):
    """One claim of the ask by a worker."""

    worker: str | None
    host: str | None
    pid: int | None
    claimed_at: datetime | None
    ended_at: datetime
    outcome: Outcome
    reason: str | None
    calls: list[CallView]
    calls_left_out: int = Field(description="How many shorter ones there were.")


class ItemView(BaseModel):
    """A piece of the run: its beginning, an ask from when it was asked to the move after its answer, the time before a
    retry."""

    no: int
    kind: Literal["begin", "ask", "over"]
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


class ShareView(BaseModel):
    """The time of all spans of one kind and name."""

    kind: Kind
    name: str
    text: str
    seconds: float
    share: float = Field(description="Of the whole, from 0 to 1.")
    times: int


class TimelineView(BaseModel):
    """Where the run's time went: all of it in `summary`, `shares` and `slowest`, and a page of its `items`."""

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


def timeline_view(
    run: str, task: str, status: str, sums: Sums, items: Sequence[Item], *, ended: bool, next_after: int | None
) -> TimelineView:
    """All of it; `items` is the page."""
    began, total = sums.began_at or 0.0, sums.seconds
    return TimelineView(
        run=run,
        task=task,
        status=status,
        began_at=_when(began),
        ends_at=_when(sums.ends_at or began),
        ended=ended,
        seconds=_round(total),
        summary=sentence(sums, ended),
        shares=[_share(one, total) for one in sums.shares],
        slowest=[_item(item, began) for item in sums.slowest],
        items=[_item(item, began) for item in items],
        total=sums.items,
        next_after=next_after,
    )


def _share(one: Sum, total: float) -> ShareView:
    return ShareView(
        kind=one.kind,
        name=one.name,
        text=phrase(one.kind, one.name),
        seconds=_round(one.seconds),
        share=round(one.seconds / total, 4) if total > 0 else 0.0,
        times=one.times,
    )


def _item(item: Item, began: float) -> ItemView:
    spans = [
        SpanView(kind=span.kind, name=span.name, start=_round(span.start - began), seconds=_round(span.seconds))
        for span in item.spans
    ]
    return ItemView(
        no=item.no,
        kind=item.kind,
        event=item.event,
        task=item.task,
        turn=item.turn,
        candidate=item.candidate,
        ask=item.ask,
        responder=item.responder,
        queue=item.queue,
        asked_at=_when(item.start),
        answered_at=_maybe(item.answered_at),
        moved_at=_maybe(item.moved_at),
        start=_round(item.start - began),
        seconds=_round(item.seconds),
        spans=spans,
        attempts=[_attempt(attempt, began) for attempt in item.attempts],
    )


def _attempt(attempt: Attempt, began: float) -> AttemptView:
    return AttemptView(
        worker=attempt.worker,
        host=attempt.host,
        pid=attempt.pid,
        claimed_at=_maybe(attempt.claimed_at),
        ended_at=_when(attempt.ended_at),
        outcome=attempt.outcome,
        reason=attempt.reason,
        calls=[_call(call, began) for call in attempt.calls],
        calls_left_out=attempt.left_out,
    )


def _call(call: Call, began: float) -> CallView:
    return CallView(
        kind=call.kind,
        name=call.name,
        start=_round(call.start - began),
        seconds=_round(call.seconds),
        first=call.first,
        outcome=call.outcome,
    )


def _when(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _maybe(at: float | None) -> datetime | None:
    return None if at is None else _when(at)


def _round(seconds: float) -> float:
    return round(seconds, 6)
