"""Reads a run's events, in order, into items whose spans neither overlap nor leave a gap.

The order of the events rules. Their times are the database's; a time before that of an earlier event (the database
moved to a server whose clock is behind) is read as that one. Within an attempt the worker's own clock has measured how
long each call took, and the attempt's claim and end bound it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from turnwise.api.timeline import Kind, Outcome
from turnwise.base.waits import (
    BudgetWait,
    OutageWait,
    PauseWait,
    ProviderBatchWait,
    ProviderLimitWait,
    RetryWait,
    RunWait,
    SessionWait,
    UnknownWait,
    wait_of,
)
from turnwise.record.states import AskStatus
from turnwise.record.values.records import AskRecord, EventRecord
from turnwise.timeline.attempt import AGAIN, attempt_of, divided
from turnwise.timeline.spans import AttemptSpan, Item, Span

# The events that a timeline is made of; the others tell nothing of time that these do not.
TYPES = (
    "run.accepted",
    "run.forked",
    "run.retried",
    "task.started",
    "turn.asked",
    "human.asked",
    "turn.replied",
    "human.answered",
    "ask.deferred",
    "ask.expired",
    "ask.released",
    "ask.parked",
    "ask.resolved",
    "limits.changed",
    "run.completed",
    "run.failed",
    "run.cancelled",
)
ENDS = frozenset(("run.completed", "run.failed", "run.cancelled"))
# The states of a run whose ask waits to be claimed.
_UNCLAIMED: tuple[Kind, ...] = ("queue", "retry", "provider", "batch", "outage", "budget")

LookUp = Callable[[str], AskRecord | None]


class Reader:
    """Gives items one by one, so that a run of any length is read in little memory.

    `now` ends the last span of a run that continues. `ask` looks an ask up: of one that has no answer yet, or was cut
    short by the run's end, no event says who is at it. `forked` is the event of a fork that says so: what is before it
    was another run's time. `held` is why a run has not begun, where that is on record.
    """

    def __init__(self, now: float, ask: LookUp, forked: int = 0, held: RunWait | None = None) -> None:
        self._now, self._look_up, self._forked, self._held = now, ask, forked, held
        self.ended = False
        self._item: Item | None = None
        self._no = 0
        # Up to where spans were made, and the latest time that an event has told.
        self._cursor = self._latest = 0.0
        # What the run does or waits for since the cursor, and for how long if something else is to follow.
        self._state: tuple[Kind, str] = ("move", "")
        self._until: float | None = None
        self._then: tuple[Kind, str] = ("queue", "")

    def items(self, events: Iterable[EventRecord]) -> Iterator[Item]:
        """The items; those of a fork begin with the fork."""
        for event in events:
            self._latest = max(event.at, self._latest)
            done = self._take(event, self._latest, event.data or {})
            if done is not None and done.event >= self._forked:
                yield done
        if self._item is not None:
            if not self.ended:
                self._state = _hold(self._held) or self._state
                self._open_until(max(self._now, self._latest), "working")
            yield self._item

    def _take(self, event: EventRecord, at: float, data: dict[str, Any]) -> Item | None:
        """Take an event in; the item that it completes, if it is one."""
        kind = event.type
        if kind in ("run.accepted", "run.forked"):
            self._accepted(event)
            return None
        if kind == "run.retried":
            return self._retried(event, at, data)
        if self.ended:
            return None
        if kind in ENDS:
            self._open_until(at, "cut")
            self._moved(at)
            self.ended = True
            return None
        if kind in ("turn.asked", "human.asked"):
            self._wait(at)
            return self._next(event, at, data)
        if self._item is not None:
            _TAKE.get(kind, Reader._ignore)(self, event, at, data)
        return None

    # --- items ---

    def _accepted(self, event: EventRecord) -> None:
        """The run begins here. A fork continues with the ask that was open, or with a move."""
        before, self.ended = self._item, False
        # Of a fork, what is before it was another run's time, by whatever clock.
        self._no, self._cursor, self._latest = 0, event.at, event.at
        self._item = Item(no=0, kind="begin", event=event.seq, start=self._cursor)
        self._state, self._until = ("move", ""), None
        if event.type == "run.forked" and before is not None and before.kind == "ask" and before.answered_at is None:
            self._item = replace(
                before, no=0, event=event.seq, start=self._cursor, spans=[], attempts=[], ask=event_ask(before, event)
            )
            self._asked()

    def _retried(self, event: EventRecord, at: float, data: dict[str, Any]) -> Item | None:
        """The run had ended, and continues: with the ask that failed, or with a move."""
        done, self.ended = self._item, False
        self._no += 1
        over = Item(no=self._no, kind="over", event=event.seq, start=self._cursor)
        self._item, self._state, self._until = over, ("over", ""), None
        self._wait(at)
        self._state = ("move", "")
        if data.get("again") and done is not None and done.kind == "ask":
            over.responder, over.task, over.turn = done.responder, done.task, done.turn
            over.ask, over.queue, over.candidate = done.ask, done.queue, done.candidate
            self._asked()
        return done

    def _next(self, event: EventRecord, at: float, data: dict[str, Any]) -> Item | None:
        done = self._item
        self._moved(at)
        self._no += 1
        responder = str(data.get("responder") or "")
        self._item = Item(
            no=self._no,
            kind="ask",
            event=event.seq,
            start=at,
            task=event.path or "",
            turn=event.turn or 0,
            candidate=event.candidate or 0,
            ask=event.ask_id,
            responder="human" if event.type == "human.asked" else _RESPONDERS.get(responder, responder),
            queue=data.get("queue"),
        )
        self._asked()
        return done

    def _asked(self) -> None:
        item = self._item
        assert item is not None, "an ask has an item"
        self._state = ("human", item.task) if item.responder == "human" else ("queue", item.queue or "")
        self._until = None

    def _moved(self, at: float) -> None:
        if self._item is not None and self._item.moved_at is None:
            self._item.moved_at = at

    # --- events of an item ---

    def _ignore(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        pass

    def _started(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._state = _hold(wait_of(data.get("waited_for"))) or self._state
        self._wait(at)
        self._state = ("move", "")

    def _replied(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._attempt(at, data, "answered")
        self._answered(event, at, data)

    def _answered(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._wait(at)
        self._state, self._until = ("move", ""), None
        assert self._item is not None, "an answer has an item"
        self._item.answered_at = at

    def _deferred(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._attempt(at, data, "deferred")
        wait = wait_of(data.get("waiting_for"))
        queue = self._item.queue if self._item is not None else ""
        self._state, self._until = _deferral(wait)
        self._then = ("queue", queue or "")

    def _expired(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._attempt(at, data, "lost")
        self._asked()

    def _released(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._attempt(at, data, "released")
        self._asked()
        if data.get("reason") not in AGAIN:  # someone ended the run, or its time was over: the next move says so
            self._state = ("move", "")

    def _parked(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._attempt(at, data, "parked")
        self._wait(at)
        self._state, self._until = ("parked", str(data.get("tool") or "")), None

    def _resolved(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        self._wait(at)
        self._asked()

    def _limits(self, event: EventRecord, at: float, data: dict[str, Any]) -> None:
        if self._state[0] == "budget":  # which is what it waited for
            self._until = min(at, self._until or at)

    # --- spans ---

    def _attempt(self, at: float, data: dict[str, Any], outcome: Outcome) -> None:
        attempt = attempt_of(data, at, outcome)
        if attempt is None or attempt.claimed_at is None:
            if outcome != "parked":  # an older program wrote it: nothing is known of who claimed it when
                self._state, self._until = ("unknown", self._item.queue or "" if self._item else ""), None
                self._wait(at)
            return
        self._work(attempt)

    def _work(self, attempt: AttemptSpan) -> None:
        item = self._item
        assert item is not None and attempt.claimed_at is not None, "a claim has an item"
        self._wait(max(self._cursor, attempt.claimed_at))
        item.attempts.append(attempt)
        for span in divided(attempt, item.responder, self._cursor):
            self._add(span.kind, span.name, span.end)

    def _open_until(self, at: float, outcome: Outcome) -> None:
        """End what continues: if the ask is claimed, the claim's row says since when."""
        ask = self._unclaimed_ask()
        if ask is not None and ask.claimed_at is not None and ask.claimed_at >= self._cursor:
            # No event tells of this claim yet, and none ever will if the run's end cut it short.
            if ask.claimed_at <= at and ask.status in (AskStatus.LEASED, AskStatus.CANCELLED):
                claim = attempt_of({"worker": ask.worker_id, "claimed_at": ask.claimed_at}, at, outcome)
                if claim is not None:
                    self._work(claim)
            elif outcome == "cut" and self._state[0] == "queue":
                # The run was retried, and of a claim before that the row says no more.
                self._state = ("unknown", self._state[1])
        self._wait(at)

    def _unclaimed_ask(self) -> AskRecord | None:
        """The open ask, if no event tells of its claim."""
        item = self._item
        waits = self._state[0] in _UNCLAIMED
        if item is None or not item.ask or item.answered_at is not None or not waits:
            return None
        return self._look_up(item.ask)

    def _wait(self, at: float) -> None:
        """The run was in its state until then."""
        if self._until is not None and self._until < at:
            self._add(*self._state, max(self._until, self._cursor))
            self._state, self._until = self._then, None
        self._add(*self._state, at)

    def _add(self, kind: Kind, name: str, end: float) -> None:
        if self._item is not None and end > self._cursor:
            self._item.spans.append(Span(kind=kind, name=name, start=self._cursor, end=end))
            self._cursor = end


def _hold(wait: RunWait | None) -> tuple[Kind, str] | None:
    """Return what kept a run from beginning, if it was more than the next move."""
    if isinstance(wait, SessionWait):
        return "session", wait.run
    return ("paused", f"{wait.scope} {wait.name}") if isinstance(wait, PauseWait) else None


def _deferral(wait: RunWait | None) -> tuple[tuple[Kind, str], float | None]:
    """Return what a deferred ask waits for, and until when; one that waits for a provider is claimed when it has room,
    whenever that is.
    """
    match wait:
        case RetryWait():
            return ("retry", wait.agent or ""), wait.due_at
        case BudgetWait():
            return ("budget", wait.scope), wait.due_at
        case ProviderLimitWait():
            return ("provider", wait.model), None
        case ProviderBatchWait():
            return ("batch", wait.model), None
        case OutageWait():
            return ("outage", wait.model or wait.agent or ""), None
        case UnknownWait():
            return ("queue", ""), wait.found.get("due_at")
    return ("queue", ""), None


def event_ask(before: Item, event: EventRecord) -> str | None:
    """The id of the ask that a fork has taken over: the other run's id is its beginning there."""
    origin = str((event.data or {}).get("run") or "")
    ask = before.ask or ""
    return event.run_id + ask.removeprefix(origin) if origin and ask.startswith(f"{origin}.") else before.ask


_RESPONDERS = {"Agent": "agent", "LLM": "llm", "User": "human"}
_TAKE: dict[str, Callable[[Reader, EventRecord, float, dict[str, Any]], None]] = {
    "task.started": Reader._started,
    "turn.replied": Reader._replied,
    "human.answered": Reader._answered,
    "ask.deferred": Reader._deferred,
    "ask.expired": Reader._expired,
    "ask.released": Reader._released,
    "ask.parked": Reader._parked,
    "ask.resolved": Reader._resolved,
    "limits.changed": Reader._limits,
}
