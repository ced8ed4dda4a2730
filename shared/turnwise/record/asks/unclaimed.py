"""Work that waits although someone could do it: for processes that their broker tells nothing."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.database.columns import now, word
from turnwise.record.database.schema import asks
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart

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


class Unclaimed(RecordPart):
    """Looks without locks."""

    def overlooked(self, queues: Sequence[str], age: float, *, in_line: bool = True) -> dict[str, int]:
        """Return how many asks of each of these queues may be claimed since `age` seconds; queues with none are left
        out.

        Without `in_line`, those that wait for room with a provider are not counted.
        """
        statement = _WAITING if in_line else _WAITING_FOR_NOBODY
        with self._database.read() as connection:
            rows = connection.execute(statement, {"queues": list(queues), "age": age}).all()
        return {row[0]: row[1] for row in rows}
