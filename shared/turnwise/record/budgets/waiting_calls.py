"""Calls that wait for a provider in their workers, as its bucket notes them, so that their places go to no one else.

They stand in no line: no claim hands them a place, they look for one. A note that is not renewed lapses, because its
worker may have died.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from turnwise.record.values.records import AskRecord

# A call that waits in its worker looks at least so often for a place, in seconds.
LONGEST_LOOK = 30.0
# A look may be late by so many seconds, on a busy machine, before its call is given up.
_LATE = 2.0


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call under an ask that a worker holds, with the rank and the age of that ask; it lapses at `until`."""

    run_id: str
    ask_id: str
    priority: int
    created_at: float
    tokens: int
    until: float

    @classmethod
    def of(cls, ask: AskRecord, tokens: int, now: float, look_at: float) -> WaitingCall:
        """A call that looks again at that time, or sooner."""
        until = min(look_at, now + LONGEST_LOOK) + _LATE
        return cls(ask.run_id, ask.id, ask.priority, ask.created_at, tokens, until)

    def is_of(self, ask: AskRecord) -> bool:
        """Return whether it is made under this ask."""
        return (self.run_id, self.ask_id) == (ask.run_id, ask.id)

    def comes_before(self, ask: AskRecord) -> bool:
        """Return whether the next free place is this call's, and not the ask's: by priority, then by age."""
        return not self.is_of(ask) and (-self.priority, self.created_at) < (-ask.priority, ask.created_at)


def dump(calls: Sequence[WaitingCall]) -> list[Any] | None:
    """Return them as JSON; None for none."""
    return [list(astuple(call)) for call in calls] or None


def load(body: Sequence[Sequence[Any]] | None, now: float) -> tuple[WaitingCall, ...]:
    """Read those that `dump` wrote and that have not lapsed."""
    return tuple(call for call in (WaitingCall(*each) for each in body or ()) if call.until > now)
