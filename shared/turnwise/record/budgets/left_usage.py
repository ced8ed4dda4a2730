"""The use of runs that a program of before 0012 has ended, which leaves `runs.uncounted` as it is.

That happens while an installation is upgraded.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import now
from turnwise.record.database.schema import runs
from turnwise.record.transaction.part import RecordPart

# Seconds after the end of a run within which a sweep comes by. What it misses is counted when the run is deleted.
_WITHIN = 60.0
_BATCH = 100
# By the index of ends: one on `uncounted` would have to be changed by each turn.
_LEFT = sa.select(runs.c.id).where(runs.c.finished_at > now() - _WITHIN, runs.c.uncounted.is_not(None)).limit(_BATCH)


class LeftUsage(RecordPart):
    """Adds to the sums of days what was left out of them."""

    def count_left_usage(self) -> int:
        """Count the usage that runs which ended just now still have in their rows, and return the number of runs."""
        with self._database.read() as connection:
            left = connection.scalars(_LEFT).all()
        counted = 0
        for run_id in left:
            with self._lock_run(run_id, skip_locked=True) as transaction:
                # Its commit does it, as that of any transaction over a run that is at rest.
                counted += transaction is not None and transaction.run.uncounted is not None
        return counted
