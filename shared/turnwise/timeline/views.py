"""A timeline as it crosses HTTP. Times are RFC 3339 in UTC, durations seconds, `start` seconds since the run began."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.api.timeline import AttemptView, CallView, ItemView, ShareView, SpanView, TimelineView
from turnwise.base.times import when, when_known
from turnwise.timeline.sentences import phrase, sentence
from turnwise.timeline.spans import AttemptSpan, CallSpan, Item
from turnwise.timeline.sums import Sum, Sums


def timeline_view(
    run: str, task: str, status: str, sums: Sums, items: Sequence[Item], *, ended: bool, next_after: int | None
) -> TimelineView:
    """All of it; `items` is the page."""
    began, total = sums.began_at or 0.0, sums.seconds
    return TimelineView(
        run=run,
        task=task,
        status=status,
        began_at=when(began),
        ends_at=when(sums.ends_at or began),
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
        asked_at=when(item.start),
        answered_at=when_known(item.answered_at),
        moved_at=when_known(item.moved_at),
        start=_round(item.start - began),
        seconds=_round(item.seconds),
        spans=spans,
        attempts=[_attempt(attempt, began) for attempt in item.attempts],
    )


def _attempt(attempt: AttemptSpan, began: float) -> AttemptView:
    return AttemptView(
        worker=attempt.worker,
        host=attempt.host,
        pid=attempt.pid,
        claimed_at=when_known(attempt.claimed_at),
        ended_at=when(attempt.ended_at),
        outcome=attempt.outcome,
        reason=attempt.reason,
        calls=[_call(call, began) for call in attempt.calls],
        calls_left_out=attempt.left_out,
    )


def _call(call: CallSpan, began: float) -> CallView:
    return CallView(
        kind=call.kind,
        name=call.name,
        start=_round(call.start - began),
        seconds=_round(call.seconds),
        first=call.first,
        outcome=call.outcome,
    )


def _round(seconds: float) -> float:
    return round(seconds, 6)
