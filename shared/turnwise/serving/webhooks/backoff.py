"""The waits between the attempts at a delivery."""

from __future__ import annotations

from zlib import crc32

from turnwise.base.backoff import backoff

_FIRST = 5.0
_LONGEST = 3_600.0


def next_wait(id: str, attempt: int, tried_for: float, give_up_after: float, wanted: float | None) -> float | None:
    """Seconds until the next attempt; None if the delivery has been tried for long enough.

    It doubles from 5 s to an hour, and is between half and all of that: deliveries that failed together are spread by
    their ids. A receiver may want a longer wait. One that is replayed begins with short waits again.
    """
    if tried_for >= give_up_after:
        return None
    # A replay keeps the attempts, and begins the time anew. For any other delivery the attempts alone count: each wait
    # was at least half of what it could be, so twice their sum and the first one are no less than the next can be.
    most = min(backoff(attempt, _FIRST, _LONGEST), _FIRST + 2 * max(tried_for, 0.0))
    share = crc32(f"{id}:{attempt}".encode()) / 0xFFFFFFFF
    return max(most * (0.5 + share / 2), wanted or 0.0)
