"""The growing wait between tries."""

from __future__ import annotations


def backoff(failed: int, first: float, last: float, factor: float = 2.0) -> float:
    """Seconds until the next try after `failed` ones, of which there may be any number.

    They are `first` after one, and `factor` times as long after each further one, up to `last`.
    """
    if not first:
        return 0.0
    try:
        return min(first * float(factor) ** (failed - 1), last)
    except OverflowError:  # a power that no float holds is far above any wait
        return last
