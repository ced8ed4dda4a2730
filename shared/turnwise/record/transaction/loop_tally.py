"""The counts of a task's messages, in rows."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from turnwise.record.database import driver
from turnwise.record.database.schema import loop_counts
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.writes import Writes
from turnwise.record.values.frame_counts import MOST_COUNTED, FrameCounts
from turnwise.record.values.known_run import KnownRun

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
    """The counts of one transaction: those of the database, and what was added since.

    A run that is carried on has them in memory; for any other, only the highest are read.
    """

    def __init__(self, lock: RunLock, known: KnownRun, writes: Writes) -> None:
        self._lock = lock
        self._known = known
        self._first_new = known.run.last_frame + 1
        self._added = writes.counts

    def count(self, frame_no: int, key: str, n: int) -> list[tuple[str, int]]:
        """Add one to `key`; the `n` commonest keys of the frame with their counts, this one included."""
        known = self._all(frame_no)
        self._added[frame_no, key] = self._added.get((frame_no, key), 0) + 1
        if known is not None:
            return known.add(key, n)
        if n <= 0:
            return []
        added = {name: more for (frame, name), more in self._added.items() if frame == frame_no}
        found: dict[str, int] = {}
        for name in added:  # nearly always the one key; an addition can only lift a count, so these and the top do
            given = {"run_id": self._known.run.id, "frame_no": frame_no, "key": name, "top": n}
            found |= {row[0]: row[1] for row in driver.fetch(self._lock.connection, _BOTH, given)}
        for name, more in added.items():
            found[name] = found.get(name, 0) + more
        return sorted(found.items(), key=lambda item: -item[1])[:n]

    def restore(self, frame_no: int, counts: Mapping[str, int]) -> None:
        """Give a frame that is put back the counts that it had."""
        self._known.counts.pop(frame_no, None)
        for key, n in counts.items():
            self._added[frame_no, key] = n

    def _all(self, frame_no: int) -> FrameCounts | None:
        """All counts of the frame, if they are in memory or it pays to read them."""
        known = self._known.counts
        found = known.get(frame_no)
        if found is None:
            if frame_no >= self._first_new and not any(frame == frame_no for frame, _ in self._added):
                found = known[frame_no] = FrameCounts()
            elif self._known.is_carried and frame_no not in self._known.too_many:
                found = self._read(frame_no)
        if found is not None and len(found) >= MOST_COUNTED:
            self._known.too_many.add(frame_no)
            known.pop(frame_no, None)
            found = None
        return found

    def _read(self, frame_no: int) -> FrameCounts:
        given = {"run_id": self._known.run.id, "frame_no": frame_no, "top": MOST_COUNTED}
        counts = {row[0]: row[1] for row in driver.fetch(self._lock.connection, _TOP, given)}
        for (frame, key), more in self._added.items():
            if frame == frame_no:
                counts[key] = counts.get(key, 0) + more
        found = self._known.counts[frame_no] = FrameCounts(counts)
        return found
