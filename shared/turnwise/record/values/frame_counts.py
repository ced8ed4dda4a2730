"""Counts of the messages of a frame, with the highest at hand."""

from __future__ import annotations

from collections.abc import Mapping

# Frames with more different messages are counted by the database alone; this many take about 1.5 MB.
MOST_COUNTED = 10_000


class FrameCounts:
    """All counts of one frame. Counting costs the same however many there are."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = dict(counts or {})
        self._highest: list[str] = []
        self._kept = 0

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, key: str, n: int) -> list[tuple[str, int]]:
        """Count `key` once more; return the `n` highest counts, in descending order.

        Those that were asked for last are kept up to date where none are asked for, as for most messages.
        """
        counts = self._counts
        counts[key] = count = counts.get(key, 0) + 1
        if n not in (0, self._kept):
            self._kept = n
            self._highest = sorted(counts, key=lambda name: -counts[name])[:n]
        elif key in self._highest:
            self._highest.sort(key=lambda name: -counts[name])
        elif len(self._highest) < self._kept:
            self._highest.append(key)
            self._highest.sort(key=lambda name: -counts[name])
        elif self._kept and count > counts[self._highest[-1]]:
            self._highest[-1] = key
            self._highest.sort(key=lambda name: -counts[name])
        return [(name, counts[name]) for name in self._highest] if n else []
