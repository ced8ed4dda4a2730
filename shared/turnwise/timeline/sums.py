"""Adds up where the time of a run went, while its items are read."""

from __future__ import annotations

from dataclasses import dataclass

from turnwise.api.timeline import Kind
from turnwise.timeline.spans import Item

SLOWEST = 20
# So many names of a kind are told apart; the time of the others is added under the name "".
_NAMES = 100


@dataclass(slots=True)
class Sum:
    """The time of all spans of one kind and name, and how many there were."""

    kind: Kind
    name: str
    seconds: float = 0.0
    times: int = 0


class Sums:
    """The sums over all items; of the items themselves only the slowest ones are kept."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Kind, str], Sum] = {}
        self._slowest: list[Item] = []
        self.seconds = 0.0
        self.items = 0
        self.began_at: float | None = None
        self.ends_at: float | None = None
        # Attempts by what they came to.
        self.lost = self.retries = 0

    def add(self, item: Item) -> None:
        """Count an item."""
        self.items += 1
        self.began_at = item.start if self.began_at is None else self.began_at
        self.ends_at = item.end
        for span in item.spans:
            self.seconds += span.seconds
            # A worker's own part is one sum, or there would be one for every process of a fleet.
            name = "" if span.kind in ("worker", "lost", "session") else span.name
            key = (span.kind, name)
            if key not in self._sums and len(self._sums) >= _NAMES:
                key = (span.kind, "")
            found = self._sums.setdefault(key, Sum(*key))
            found.seconds += span.seconds
            found.times += 1
        for attempt in item.attempts:
            self.lost += attempt.outcome == "lost"
            self.retries += attempt.outcome == "deferred" and attempt.reason is not None
        if item.kind == "ask":
            self._slowest = sorted([*self._slowest, item], key=lambda one: (-one.seconds, one.no))[:SLOWEST]

    @property
    def shares(self) -> list[Sum]:
        """The sums, the largest first."""
        return sorted(self._sums.values(), key=lambda one: (-one.seconds, one.kind, one.name))

    @property
    def slowest(self) -> list[Item]:
        """The asks that took longest, the longest first."""
        return self._slowest
