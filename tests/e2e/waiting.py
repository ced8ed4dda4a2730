"""Waiting for a condition, up to a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Generous: a loaded machine makes a test slow, never red.
PATIENCE = 90.0
_PAUSE = 0.05


def until(look: Callable[[], T | None], what: str, patience: float = PATIENCE, every: float = _PAUSE) -> T:
    """The first true value of `look`, which is asked `every` so many seconds.

    Raises `TimeoutError` naming `what` was waited for after `patience` seconds.
    """
    pause = threading.Event()
    deadline = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience:g} s for {what}; the last look gave {found!r}")
        pause.wait(every)
