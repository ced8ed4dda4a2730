"""The use of runs that a program of before 0012 has ended, which leaves `runs.uncounted` as it is.

That happens while an installation is upgraded.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import now
from turnwise.record.database.schema import runs
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.sweeping_part import SweepingPart

# Seconds after the end of a run within which a sweep comes by. What it misses is counted when the run is deleted.
_WITHIN = 60.0
_BATCH = 100
# By the index of ends: one on `uncounted` would have to be changed by each turn.
_LEFT = sa.select(runs.c.id).where(runs.c.finished_at > now() - _WITHIN, runs.c.uncounted.is_not(None)).limit(_BATCH)


class LeftUsage(SweepingPart):
    """Adds to the sums of days what was left out of them."""

    def count_left_usage(self) -> int:
        """Count the usage that runs which ended just now still have in their rows, and return the number of runs."""
        with self._database.read() as connection:
            left = connection.scalars(_LEFT).all()
        return sum(bool(self._if_free(run_id, _has_uncounted)) for run_id in left)


def _has_uncounted(transaction: RunTransaction) -> bool:
    """Return whether there is usage to be counted; the commit does it, as that of any transaction on a run at rest."""
    return transaction.run.uncounted is not None
