"""The growth of the time that a text takes which repeats one piece for long."""

from __future__ import annotations

import time
from collections.abc import Callable


def takes_time_by_length(read: Callable[[str], object], piece: str, *, begin: str = "", times: int = 2_000) -> bool:
    """Return whether ten times as long a text takes about ten times as long; where it is quadratic, it is a hundred.

    The time is that of this process, and the least of several, so that a busy machine changes nothing.
    """

    def seconds(times: int) -> float:
        text = begin + piece * times + "\x01"
        started = time.process_time()
        read(text)
        return time.process_time() - started

    short = min(seconds(times) for _ in range(3))
    # Below that, clocks and collections of garbage count for more than the text.
    most = 40 * short + 0.05
    return any(seconds(10 * times) < most for _ in range(3))
