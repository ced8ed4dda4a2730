"""The counts of a task's messages, in rows."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database import driver
from turnwise.record.database.schema import loop_counts
from turnwise.record.runs.writes import Writes

_PLACE = (loop_counts.c.run_id == sa.bindparam("run_id"), loop_counts.c.frame_no == sa.bindparam("frame_no"))
_OWN = sa.select(loop_counts.c.key, loop_counts.c.n).where(*_PLACE, loop_counts.c.key == sa.bindparam("key"))
_TOP = (
    sa.select(loop_counts.c.key, loop_counts.c.n)
    .where(*_PLACE)
    .order_by(loop_counts.c.n.desc())
    .limit(sa.bindparam("top", type_=sa.Integer))
)
_BOTH = sa.union_all(sa.select(_TOP.subquery()), sa.select(_OWN.subquery()))


class LoopTally:
    """The counts of one transaction: those of the database, and what was added since."""

    def __init__(self, connection: Connection, run_id: str, writes: Writes) -> None:
        self._connection = connection
        self._run_id = run_id
        self._added = writes.counts

    def count(self, frame_no: int, key: str, n: int) -> list[tuple[str, int]]:
        """Add one to `key`; the `n` commonest keys of the frame with their counts, this one included."""
        self._added[frame_no, key] = self._added.get((frame_no, key), 0) + 1
        if n <= 0:
            return []
        added = {name: more for (frame, name), more in self._added.items() if frame == frame_no}
        found: dict[str, int] = {}
        for name in added:  # nearly always the one key; an addition can only lift a count, so these and the top do
            given = {"run_id": self._run_id, "frame_no": frame_no, "key": name, "top": n}
            found |= {row[0]: row[1] for row in driver.fetch(self._connection, _BOTH, given)}
        for name, more in added.items():
            found[name] = found.get(name, 0) + more
        return sorted(found.items(), key=lambda item: -item[1])[:n]
