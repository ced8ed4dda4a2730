"""Moves that take longer than the database lets a transaction rest, so that they would be made again for ever."""

from __future__ import annotations

from collections import Counter

from turnwise.base.clock import Clock
from turnwise.base.postgres import LONGEST_MOVE

# A process that is frozen in the middle of a move sees the same, but hardly so often with one run.
_TIMES = 3


class SlowMoves:
    """The moves that were cut off because of their time, counted by run; belongs to one coordinator."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: Counter[str] = Counter()

    def made(self, run_id: str) -> None:
        """Note a move that was kept, or the end of the run."""
        self._times.pop(run_id, None)

    def cut_off(self, run_id: str, locked_at: float | None) -> TimeoutError | None:
        """Note a move that lost its transaction.

        It had the run from `locked_at` on, in seconds of the clock; None for a move that never had it.
        Return the error that the run is to end with: after the third one in turn which no outage explains.
        """
        seconds = 0.0 if locked_at is None else self._clock.monotonic() - locked_at
        if seconds <= LONGEST_MOVE:
            return None
        self._times[run_id] += 1
        if self._times[run_id] < _TIMES:
            return None
        return TimeoutError(
            f"the rules of the application took {seconds:.0f} s for a move, {self._times[run_id]} times in turn, and"
            " the database gave up its transaction (idle_in_transaction_session_timeout); let the handler of a tool do"
            " what takes time, and then retry the run"
        )
