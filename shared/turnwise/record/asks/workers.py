"""Worker incarnations: one row per process, whose lease carries all that the process holds."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.base.ids import new_id
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.columns import now
from turnwise.record.database.rows import as_row
from turnwise.record.database.schema import workers
from turnwise.record.transaction.part import RecordPart

_ALIVE = sa.and_(workers.c.id == sa.bindparam("worker_id"), workers.c.state == "alive")
_BEAT = (
    sa.update(workers).where(_ALIVE).values(beat_at=now(), lease_until=now() + sa.bindparam("lease", type_=sa.Double))
)
_RETIRE = sa.update(workers).where(_ALIVE).values(state=sa.bindparam("new_state"), lease_until=now())

_DEAF = (
    sa.update(workers)
    .where(workers.c.id == sa.bindparam("worker_id"), workers.c.deaf_since.is_(None))
    .values(deaf_since=now())
)
_HEARS = sa.update(workers).where(workers.c.id == sa.bindparam("worker_id")).values(deaf_since=None)
_DRAINS = sa.update(workers).where(workers.c.id == sa.bindparam("worker_id")).values(draining_since=now())


class Incarnations(RecordPart):
    """Registers, renews and retires incarnations."""

    def register_worker(self, info: WorkerInfo) -> str:
        """Begin an incarnation with a fresh lease; its id."""
        worker_id = new_id("wkr")
        values = as_row(info, id=worker_id, state="alive", queues=list(info.queues))
        values |= {"started_at": now(), "beat_at": now(), "lease_until": now() + self._core.lease_seconds}
        with self._database.begin() as connection:
            connection.execute(sa.insert(workers).values(values))
        return worker_id

    def beat(self, worker_id: str) -> bool:
        """Renew the lease; False if the incarnation was declared dead, so that what it holds is lost."""
        with self._database.statement() as connection:
            given = {"worker_id": worker_id, "lease": self._core.lease_seconds}
            return connection.execute(_BEAT, given).rowcount == 1

    def retire_worker(self, worker_id: str, state: str = "stopped") -> None:
        """End an incarnation in good order; what it still holds is taken over at the next sweep."""
        with self._database.statement() as connection:
            connection.execute(_RETIRE, {"worker_id": worker_id, "new_state": state})

    def note_deaf(self, worker_id: str, deaf: bool) -> None:
        """Keep with the worker whether it hears its broker, for those who look at the fleet."""
        with self._database.statement() as connection:
            connection.execute(_DEAF if deaf else _HEARS, {"worker_id": worker_id})

    def note_draining(self, worker_id: str) -> None:
        """Keep with the worker that it was told to end, for those who look at the fleet."""
        with self._database.statement() as connection:
            connection.execute(_DRAINS, {"worker_id": worker_id})
