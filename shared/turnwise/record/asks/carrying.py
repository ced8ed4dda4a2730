"""Taking the next ask of a run together with the reply to the last one."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.asks.best_ask import CLAIMABLE_UNJOINED
from turnwise.record.asks.pause_conditions import pauses
from turnwise.record.database import driver
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks, workers
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction

_queue = sa.bindparam("queue", type_=sa.Text)
_one = sa.literal(1)


def _is(kind: str, name: str) -> sa.ColumnElement[bool]:
    return sa.and_(pauses.c.kind == word(kind), pauses.c.name == sa.bindparam(name, type_=sa.Text))


# As a claim has it: the worker was not declared dead, and no pause holds the ask. The pauses are one condition, since
# each subquery of a turn's write costs.
_CONDITIONS = (
    sa.exists(_one).where(workers.c.id == sa.bindparam("worker_id", type_=sa.Text), workers.c.state == word("alive")),
    ~sa.exists(_one).where(
        pauses.c.resumed_at.is_(None), sa.or_(_is("queue", "queue"), _is("task", "task"), _is("tenant", "tenant"))
    ),
)
_MAY_CARRY = sa.select(_one).where(*_CONDITIONS)
_OTHERS_WAIT = sa.select(
    sa.exists(_one).where(asks.c.queue == _queue, asks.c.status == word(AskStatus.RUNNABLE), CLAIMABLE_UNJOINED)
)


class Carrying(RecordPart):
    """Lets a worker carry a run on: it holds the next ask from the moment that it is written."""

    def may_carry(self, transaction: RunTransaction, queue: str, worker_id: str) -> bool:
        """Return whether the worker may hold the run's next ask, which is for `queue`; it then counts as a claim.

        It may not if it was declared dead, or the queue, the task or the tenant is paused. Where the run is not locked,
        that becomes a condition of the write.
        """
        run = transaction.run
        given = {"worker_id": worker_id, "queue": queue, "task": run.task, "tenant": run.tenant}
        if not transaction.is_locked:
            transaction.require(*_CONDITIONS, given=given)
        elif not driver.fetch(transaction.connection, _MAY_CARRY, given):
            return False
        self._core.tenant_shares.count(transaction, queue)
        return True

    def others_wait(self, transaction: RunTransaction, queue: str) -> bool:
        """Return whether asks of other runs could be claimed from the queue now."""
        return bool(driver.fetch(transaction.connection, _OTHERS_WAIT, {"queue": queue})[0][0])
