"""Attempts that came to no outcome on record: their worker was lost, or could not write what it had answered."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.asks.parking import park_ask
from turnwise.record.budgets.settlement import settle_lost
from turnwise.record.database.schema import asks, workers
from turnwise.record.database.status_statements import change_asks, change_one
from turnwise.record.events.ask_events import AskExpired, attempt_at
from turnwise.record.states import AskStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import CodedError
from turnwise.record.values.outcomes import Parking
from turnwise.record.values.records import AskRecord

_RETAKE = (
    change_asks(AskStatus.RUNNABLE, AskStatus.LEASED)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(token=asks.c.token + 1, lost=asks.c.lost + 1, worker_id=None, topups=0, topup_after=None)
)
_HOLDER = sa.select(workers.c.host, workers.c.pid).where(workers.c.id == sa.bindparam("worker_id"))


def take_over(transaction: RunTransaction, ask: AskRecord, *, unwritten: bool = False) -> bool:
    """Take a leased ask over, and return whether it is runnable again; one that has no attempt left is parked.

    The attempt counts, and so do its calls of models. A handler that may not be called twice may have begun.
    `unwritten`: its worker lives, and could not write the outcome.
    """
    parked = ask.attempts >= ask.max_attempts
    if not parked:
        given = {"of_run": ask.run_id, "of_ask": ask.id}
        change_one(transaction.connection, _RETAKE, given, AskStatus.RUNNABLE)
    settle_lost(transaction, ask.id, ask.token, ask)
    _expired(transaction, ask, parked=parked, unwritten=unwritten)
    if parked:
        _park(transaction, ask)
    return not parked


def _park(transaction: RunTransaction, ask: AskRecord) -> None:
    message = (
        f"{ask.attempts} workers in a row died, lost their lease or could not write their answer as {ask.agent} "
        f"({ask.responder}) in {ask.path}; look at their logs before it is tried again"
    )
    error = CodedError(type="AttemptsExhausted", code="attempts_exhausted", message=message, place=ask.path)
    park_ask(transaction, ask, Parking(reason="attempts_exhausted", error=error), lost_now=True)


def _expired(transaction: RunTransaction, ask: AskRecord, *, parked: bool, unwritten: bool) -> None:
    holder = transaction.connection.execute(_HOLDER, {"worker_id": ask.worker_id}).first()
    host, pid = (None, None) if holder is None else (holder[0], holder[1])
    attempt = attempt_at(ask, ask.worker_id)
    told = AskExpired(attempt=attempt, host=host, pid=pid, parked=parked, unwritten=unwritten)
    transaction.event(told, ask.place)
