"""Counts of each message that a task took, and the commonest ones."""

from __future__ import annotations


class Tally:
    """Counts by key; telling the commonest costs the same however many keys there are.

    Keys are kept by their count, so the highest counts are looked up instead of searched for.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._keys: dict[int, dict[str, None]] = {}

    def add(self, key: str) -> None:
        """Count `key` once more."""
        before = self._counts.get(key, 0)
        self._counts[key] = before + 1
        self._keys.setdefault(before + 1, {})[key] = None
        if before:
            level = self._keys[before]
            del level[key]
            if not level:
                del self._keys[before]

    def commonest(self, n: int) -> tuple[tuple[str, int], ...]:
        """Up to `n` keys with their counts, the highest counts first."""
        found: list[tuple[str, int]] = []
        for count in sorted(self._keys, reverse=True):
            for key in self._keys[count]:
                if len(found) >= n:
                    return tuple(found)
                found.append((key, count))
        return tuple(found)
