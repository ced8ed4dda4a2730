"""The values of a timeline. Times are seconds since the epoch by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from turnwise.api.timeline import Kind, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A time from `start` to `end` in which a run worked, or waited."""

    kind: Kind
    name: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Return how long."""
        return self.end - self.start


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSpan:
    """A call of a model or a handler, or a wait within one; `first` is seconds until the first piece of text."""

    kind: str
    name: str
    start: float
    seconds: float
    first: float | None = None
    outcome: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptSpan:
    """One claim of an ask by a worker. What an older program did not keep is None."""

    worker: str | None
    host: str | None
    pid: int | None
    claimed_at: float | None
    ended_at: float
    outcome: Outcome
    reason: str | None = None
    calls: tuple[CallSpan, ...] = ()
    left_out: int = 0


@dataclass(kw_only=True, slots=True)
class Item:
    """A piece of a run between two moves: the `begin`ning, an `ask`, or the time `over` before a retry.

    Of an ask: who was asked (`responder`, `agent`s are named by their task) in which turn, and when.
    """

    no: int
    kind: Literal["begin", "ask", "over"]
    event: int
    start: float
    task: str = ""
    turn: int = 0
    candidate: int = 0
    ask: str | None = None
    responder: str = ""
    queue: str | None = None
    answered_at: float | None = None
    moved_at: float | None = None
    spans: list[Span] = field(default_factory=list)
    attempts: list[AttemptSpan] = field(default_factory=list)

    @property
    def end(self) -> float:
        """The end of its last span."""
        return self.spans[-1].end if self.spans else self.start

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.end - self.start
