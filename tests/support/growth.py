"""How the time that a reader takes grows with the length of its text."""

from __future__ import annotations

import time
from collections.abc import Callable

_SHORTEST, _FACTOR, _STEPS = 500, 4, 3


def grows_with_length(read: Callable[[str], object], start: str, piece: str) -> None:
    """Assert that `start` and many pieces are read in time in proportion to their length, or close to it.

    It is the time of this thread, so that a loaded machine makes no difference. Lengths are tried from one to the next:
    the first that takes too long is the last.
    """
    before = _seconds(read, start, piece, _SHORTEST)
    for step in range(1, _STEPS + 1):
        length = _SHORTEST * _FACTOR**step
        now = _seconds(read, start, piece, length)
        # A time that grows with the square of the length is 16 times as long.
        assert now < 12 * before + 0.05, f"{length} characters take {now:.2f} s, a quarter of them {before:.3f} s"
        before = now


def _seconds(read: Callable[[str], object], start: str, piece: str, length: int) -> float:
    text = start + piece * (length // len(piece))
    taken = []
    for _ in range(3):
        began = time.thread_time()
        read(text)
        taken.append(time.thread_time() - began)
    return min(taken)
