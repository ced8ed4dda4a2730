"""Patience with a gateway that restarts, is away, or refuses for too many requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from turnwise.errors import EnvironmentFault, QuotaExceededError

T = TypeVar("T")

# Seconds for which a gateway may be away, and between two tries at most: those of a client that follows a run.
PATIENCE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0


def patiently(call: Callable[[], T]) -> T:
    """Return what the call returns, made again while the gateway is away; it has to be one that may be repeated.

    `Retry-After` is waited for. Raises the last `EnvironmentFault` or `QuotaExceededError` after a minute, or at once
    if the gateway asks for more than what is left of that.
    """
    until, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while True:
        try:
            return call()
        except (EnvironmentFault, QuotaExceededError) as error:
            asked = (error.retry_after or 0.0) if isinstance(error, QuotaExceededError) else 0.0
            if time.monotonic() + max(pause, asked) > until:
                raise
            time.sleep(max(pause, asked))
            pause = min(2 * pause, _LONGEST_PAUSE)
