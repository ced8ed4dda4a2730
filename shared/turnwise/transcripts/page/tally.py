"""The sums of a task or a run."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from turnwise.base.money import dollars
from turnwise.transcripts.entry import Entry
from turnwise.transcripts.numbers import seconds


class EntryTally:
    """Counts messages, tokens and cost of the entries that it is shown, from a time on."""

    def __init__(self, began: datetime) -> None:
        self._began = began
        self._messages = 0
        self._tokens = 0
        self._cost = Decimal(0)
        self._unpriced = False

    def add(self, entry: Entry) -> None:
        """Count the entry."""
        self._messages += entry.said is not None
        if entry.usage is not None:
            self._tokens += entry.usage.total_tokens
            self._cost += entry.usage.cost or Decimal(0)
            self._unpriced = self._unpriced or entry.usage.cost is None

    def since(self, at: datetime) -> float:
        """Seconds from the beginning to `at`."""
        return max(0.0, (at - self._began).total_seconds())

    def words(self, at: datetime) -> str:
        """The counts and the duration, for people; a `+?` says that the cost of some calls is not known."""
        parts = [f"{self._messages:,} messages"]
        if self._tokens:
            parts += [f"{self._tokens:,} tokens", dollars(self._cost) + ("+?" if self._unpriced else "")]
        return " · ".join([*parts, seconds(self.since(at))])
