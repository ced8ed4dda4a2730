"""Work that waits although someone could do it: for processes that their broker tells nothing."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.database.columns import now, word
from turnwise.record.database.schema import asks, workers
from turnwise.record.runs.base import StoreBase
from turnwise.record.states import AskStatus

_WAITING = (
    sa.select(asks.c.queue, sa.func.count())
    .where(
        asks.c.queue.in_(sa.bindparam("queues", expanding=True)),
        asks.c.status == word(AskStatus.RUNNABLE),
        sa.func.coalesce(asks.c.due_at, asks.c.created_at) <= now() - sa.bindparam("age", type_=sa.Double),
        sa.not_(ASK_IS_ONE_OF_THE_PAUSED),
    )
    .group_by(asks.c.queue)
)
_WAITING_FOR_NOBODY = _WAITING.where(asks.c.bucket.is_(None))
_DEAF = (
    sa.update(workers)
    .where(workers.c.id == sa.bindparam("worker_id"), workers.c.deaf_since.is_(None))
    .values(deaf_since=now())
)
_HEARS = sa.update(workers).where(workers.c.id == sa.bindparam("worker_id")).values(deaf_since=None)
_DRAINS = sa.update(workers).where(workers.c.id == sa.bindparam("worker_id")).values(draining_since=now())


class Overlooked(StoreBase):
    """Looks without locks."""

    def overlooked(self, queues: Sequence[str], age: float, *, in_line: bool = True) -> dict[str, int]:
        """Return how many asks of each of these queues may be claimed since `age` seconds; queues with none are left
        out.

        Without `in_line`, those that wait for room with a provider are not counted.
        """
        statement = _WAITING if in_line else _WAITING_FOR_NOBODY
        with self.database.read() as connection:
            rows = connection.execute(statement, {"queues": list(queues), "age": age}).all()
        return {row[0]: row[1] for row in rows}

    def note_deaf(self, worker_id: str, deaf: bool) -> None:
        """Keep with the worker whether it hears its broker, for those who look at the fleet."""
        with self.database.begin() as connection:
            connection.execute(_DEAF if deaf else _HEARS, {"worker_id": worker_id})

    def note_draining(self, worker_id: str) -> None:
        """Keep with the worker that it was told to end, for those who look at the fleet."""
        with self.database.begin() as connection:
            connection.execute(_DRAINS, {"worker_id": worker_id})
