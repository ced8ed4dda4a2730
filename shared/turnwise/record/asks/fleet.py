"""The queries of whoever looks at queues and workers."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.asks.pauses import read_pauses
from turnwise.record.asks.worker_records import QueueStat, WorkerRecord
from turnwise.record.budgets.provider_windows import CLOSED
from turnwise.record.database.columns import now, word
from turnwise.record.database.rows import names
from turnwise.record.database.schema import asks, workers
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart

_WORKER_NAMES = names(tuple(workers.c))
# No one says of a worker that it is dead while no coordinator sweeps, so its own silence does.
_silent = sa.and_(
    workers.c.state == word("alive"), workers.c.lease_until < now() - sa.bindparam("lease", type_=sa.Double)
)
_WORKERS = sa.select(
    *(sa.case((_silent, word("dead")), else_=c).label(c.name) if c is workers.c.state else c for c in workers.c)
).order_by(workers.c.id.desc())
# Another worker could not help an ask that waits for a provider's room, or is paused.
_later = sa.or_(asks.c.due_at > now(), asks.c.bucket.in_(CLOSED))
_paused = sa.and_(asks.c.status == word(AskStatus.RUNNABLE), ASK_IS_ONE_OF_THE_PAUSED)
_delayed = sa.and_(
    asks.c.status == word(AskStatus.RUNNABLE), sa.not_(ASK_IS_ONE_OF_THE_PAUSED), sa.func.coalesce(_later, sa.false())
)
# A worker may claim it now.
FREE = sa.and_(
    asks.c.status == word(AskStatus.RUNNABLE),
    sa.not_(ASK_IS_ONE_OF_THE_PAUSED),
    sa.not_(sa.func.coalesce(_later, sa.false())),
)
_QUEUES = (
    sa.select(
        asks.c.queue,
        sa.func.sum(sa.case((FREE, 1), else_=0)),
        sa.func.sum(sa.case((asks.c.status == word(AskStatus.LEASED), 1), else_=0)),
        sa.func.sum(sa.case((_delayed, 1), else_=0)),
        sa.func.sum(sa.case((_paused, 1), else_=0)),
        now() - sa.func.min(sa.case((FREE, sa.func.coalesce(asks.c.due_at, asks.c.created_at)))),
    )
    # Two conditions, so that each can use its partial index.
    .where(
        sa.or_(asks.c.status == word(AskStatus.RUNNABLE), asks.c.status == word(AskStatus.LEASED)),
        asks.c.queue.is_not(None),
    )
    .group_by(asks.c.queue)
    .order_by(asks.c.queue)
)
_LEASED_BY = (
    sa.select(asks.c.worker_id, sa.func.count())
    .where(asks.c.status == word(AskStatus.LEASED), asks.c.worker_id.is_not(None))
    .group_by(asks.c.worker_id)
)


class Queues(RecordPart):
    """Reads the asks within reach, by queue."""

    def queue_stats(self) -> list[QueueStat]:
        """Every queue that holds asks."""
        with self._database.read() as connection:
            rows = connection.execute(self._own(_QUEUES, asks.c.run_id)).all()
        return [
            QueueStat(
                queue=row[0],
                runnable=row[1],
                leased=row[2],
                delayed=row[3],
                paused=row[4],
                oldest_age=max(row[5] or 0.0, 0.0),
            )
            for row in rows
        ]


class QueueServers(RecordPart):
    """Reads who serves the queues of the installation, without a word of the processes themselves."""

    def serving_workers(self) -> Counter[str]:
        """Return how many processes claim asks of each queue."""
        with self._database.read() as connection:
            alive = read_workers(connection, self._core.lease_seconds, "alive")
        return Counter(queue for worker in alive if worker.serves for queue in worker.queues)

    def paused_queues(self) -> set[str]:
        """Return the queues that are paused."""
        with self._database.read() as connection:
            return {pause.name for pause in read_pauses(connection) if pause.kind == "queue"}


class Processes(RecordPart):
    """Reads the processes of the installation."""

    def workers(self, state: str | None = None) -> list[WorkerRecord]:
        """Worker incarnations, newest first, in one state or in any; one silent for two leases is dead."""
        with self._database.read() as connection:
            return read_workers(connection, self._core.lease_seconds, state)

    def leased_by_worker(self) -> dict[str, int]:
        """Return how many asks each worker holds; workers that hold none are left out."""
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_LEASED_BY)}


def read_workers(connection: Connection, lease_seconds: float, state: str | None) -> list[WorkerRecord]:
    """Read worker incarnations, newest first, in one state or in any; one silent for two leases is dead."""
    rows = connection.execute(_WORKERS, {"lease": lease_seconds}).all()
    found = [WorkerRecord(**dict(zip(_WORKER_NAMES, row, strict=True))) for row in rows]
    return [worker for worker in found if state is None or worker.state == state]


def oldest_servers(connection: Connection, lease_seconds: float) -> dict[str, float]:
    """Return for each queue when the oldest of the processes began that claim asks of it."""
    began: dict[str, float] = {}
    for worker in read_workers(connection, lease_seconds, "alive"):
        for queue in worker.queues if worker.serves else ():
            began[queue] = min(began.get(queue, worker.started_at), worker.started_at)
    return began
