"""One attempt at an ask, divided into spans that neither overlap nor leave a gap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from turnwise.api.timeline import Kind, Outcome
from turnwise.timeline.spans import AttemptSpan, CallSpan, Span

# Of two parts at one time, the one with the higher rank is what the time is counted as: a wait for a provider's limit
# within a handler is the limit's, a model's call within a handler the tool's.
_RANKS: dict[str, tuple[int, Kind]] = {
    "provider": (3, "provider"),
    "budget": (3, "budget"),
    "database": (3, "worker"),
    "tool": (2, "tool"),
    "model": (1, "model"),
}
# Work cancelled for these reasons is done again by another worker.
AGAIN = frozenset(("drained", "database_away", "lease_late", "claimed_unawares", "lost"))


def attempt_of(data: dict[str, object], ended_at: float, outcome: Outcome) -> AttemptSpan | None:
    """The attempt that an event tells of; None if it tells of none."""
    if data.get("worker") is None:
        return None
    work = data.get("work")
    kept = work if isinstance(work, dict) else {}
    claimed_at = data.get("claimed_at")
    since = float(claimed_at) if isinstance(claimed_at, int | float) else None
    error = data.get("error")
    reason = data.get("reason") or (error.get("message") if isinstance(error, dict) else None)
    return AttemptSpan(
        worker=str(data["worker"]),
        host=kept.get("host", data.get("host")),
        pid=kept.get("pid", data.get("pid")),
        claimed_at=None if since is None else min(since, ended_at),
        ended_at=ended_at,
        outcome=outcome,
        reason=None if reason is None else str(reason),
        calls=() if since is None else tuple(_call(part, since) for part in kept.get("parts", ())),
        left_out=int(kept.get("left_out", 0)),
    )


def divided(attempt: AttemptSpan, responder: str, start: float) -> list[Span]:
    """The spans of an attempt from `start`, not before its claim, to its end."""
    end = attempt.ended_at
    if start >= end:
        return []
    worker = _where(attempt)
    if attempt.outcome == "lost" or (attempt.outcome == "released" and attempt.reason in AGAIN):
        return [Span(kind="lost", name=worker, start=start, end=end)]
    if not attempt.calls and attempt.outcome in ("working", "cut"):  # what it is at, only its worker knows
        kind: Kind = "model" if responder == "llm" else "tool"
        return [Span(kind=kind, name="", start=start, end=end)]
    found = _swept(_failed_as_retry(attempt), worker, start, end)
    return _merged(found)


def _swept(calls: Sequence[tuple[CallSpan, Kind, int]], worker: str, start: float, end: float) -> list[Span]:
    """Between every two times at which something changes, what ranks highest."""
    clipped = [
        (max(start, call.start), min(end, call.start + call.seconds), rank, kind, call.name)
        for call, kind, rank in calls
    ]
    times = sorted({start, end, *(time for one in clipped for time in one[:2] if start < time < end)})
    spans = []
    for since, until in pairwise(times):
        here = [one for one in clipped if one[0] <= since and one[1] >= until]
        if here:
            best = max(here, key=lambda one: one[2])
            spans.append(Span(kind=best[3], name=best[4], start=since, end=until))
        else:
            spans.append(Span(kind="worker", name=worker, start=since, end=until))
    return spans


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in spans:
        if merged and (merged[-1].kind, merged[-1].name) == (span.kind, span.name):
            merged[-1] = Span(kind=span.kind, name=span.name, start=merged[-1].start, end=span.end)
        else:
            merged.append(span)
    return merged


def _failed_as_retry(attempt: AttemptSpan) -> list[tuple[CallSpan, Kind, int]]:
    """The calls, each with what its time is counted as: the one whose failure deferred the ask counts as retries."""
    ranked = [(call, *_rank(call)) for call in attempt.calls]
    if attempt.outcome == "deferred" and attempt.reason is not None and ranked:
        last, _, rank = ranked[-1]
        ranked[-1] = (last, "retry", rank)
    return ranked


def _rank(call: CallSpan) -> tuple[Kind, int]:
    rank, kind = _RANKS.get(call.kind, (0, "worker"))
    return kind, rank


def _call(part: dict[str, object], since: float) -> CallSpan:
    first = part.get("first")
    return CallSpan(
        kind=str(part.get("kind")),
        name=str(part.get("name") or ""),
        start=since + _number(part.get("at")),
        seconds=_number(part.get("seconds")),
        first=None if first is None else _number(first),
        outcome=None if part.get("outcome") is None else str(part["outcome"]),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _where(attempt: AttemptSpan) -> str:
    """The worker's host and process, or its id where that is no longer known."""
    if attempt.host:
        return f"{attempt.host} (pid {attempt.pid})"
    return attempt.worker or ""
