"""The results of a batch: each response is kept for the ask that waits for it; the other calls are put back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

import sqlalchemy as sa

from turnwise.base.json_bounds import storable
from turnwise.errors import NotFoundError
from turnwise.record.budgets.settlement import believed, count_and_tell, release_reservations
from turnwise.record.database import driver
from turnwise.record.database.columns import now
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.database.schema import asks
from turnwise.record.database.status_statements import status_in
from turnwise.record.events.usage_events import read_usage, settled_json
from turnwise.record.provider_batches.collecting import ASK_OF_CALL
from turnwise.record.states import AskStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.sweeping_part import SweepingPart
from turnwise.record.values.outcomes import CallUsage
from turnwise.record.values.records import AskRecord, Json, RunRecord, Usage

# Calls that are cleared in one go.
MOST_CLEARED = 100
_place = (collected_asks.c.run_id == sa.bindparam("of_run"), collected_asks.c.ask_id == sa.bindparam("of_ask"))
_IN_BATCH = sa.select(
    collected_asks.c.token, collected_asks.c.until, collected_asks.c.tries, collected_asks.c.call_no
).where(*_place, collected_asks.c.batch_id == sa.bindparam("of_batch"), collected_asks.c.response.is_(None))
_ANSWER = (
    sa.update(collected_asks)
    .where(*_place)
    .values(
        response=sa.bindparam("new_response", type_=collected_asks.c.response.type),
        usage=sa.bindparam("new_usage", type_=collected_asks.c.usage.type),
        batch_id=None,
    )
)
_AGAIN = (
    sa.update(collected_asks)
    .where(*_place)
    .values(
        batch_id=None,
        tries=collected_asks.c.tries + 1,
        error=sa.bindparam("new_error", type_=sa.Text),
        collected_at=sa.bindparam("at", type_=sa.Double),
    )
)
_LIVE = (
    sa.update(collected_asks)
    .where(*_place)
    .values(
        batch_id=None,
        tries=collected_asks.c.tries + 1,
        error=sa.func.coalesce(sa.bindparam("new_error", type_=sa.Text), collected_asks.c.error),
        until=sa.bindparam("at", type_=sa.Double),
        token=None,
        call_no=None,
    )
)
_DUE_NOW = (
    sa.update(asks)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(due_at=sa.bindparam("at", type_=sa.Double), topups=0, topup_after=None)
)
_WAITING = (AskStatus.RUNNABLE, AskStatus.LEASED, AskStatus.PARKED)
# No batch has them, so no result will say that they are of no use: those whose ask was answered otherwise, or ended,
# and those that waited in vain and hold a reservation.
_LEFT = (
    sa.select(collected_asks.c.run_id, collected_asks.c.ask_id)
    .outerjoin(asks, ASK_OF_CALL)
    .where(
        collected_asks.c.provider.in_(sa.bindparam("providers", expanding=True)),
        collected_asks.c.batch_id.is_(None),
        sa.or_(
            asks.c.id.is_(None),
            sa.not_(status_in(asks.c.status, _WAITING)),
            sa.and_(
                collected_asks.c.response.is_(None),
                collected_asks.c.until <= now(),
                collected_asks.c.token.is_not(None),
            ),
        ),
    )
    .limit(MOST_CLEARED)
)
_STILL_LEFT = sa.select(collected_asks.c.token, collected_asks.c.usage, collected_asks.c.until).where(
    *_place, collected_asks.c.batch_id.is_(None)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusedAnswer:
    """A response that no ask waits for: what it used is counted in its run."""

    run: RunRecord
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleared:
    """The number of calls that were of no use, and the responses among them."""

    calls: int
    unused: Sequence[UnusedAnswer]


Kept = AskRecord | UnusedAnswer | Literal["again", "discarded", "unknown"]


class ProviderBatchResults(SweepingPart):
    """Takes the results of batches, one call at a time, under the lock of its run."""

    def keep_response(self, batch_id: str, run_id: str, ask_id: str, response: Json, usage: Usage) -> Kept:
        """Keep the response to a call of the batch, and let its ask be claimed; that ask.

        The unused answer where its ask no longer waits: then only the usage is counted. `unknown` where the batch has
        no such call without a response, as when its result was taken before. A doubted usage is kept, and counted, as
        all that was reserved for the call.
        """
        with suppress(NotFoundError), self._locked(run_id) as transaction:
            if not (found := _of_batch(transaction, batch_id, ask_id)):
                return "unknown"
            token, until, _, call_no = found[0]
            usage = believed(transaction, ask_id, token, call_no, usage)
            ask = transaction.ask(ask_id)
            at_it = ask is not None and ask.status == AskStatus.LEASED
            late = at_it and until <= transaction.now  # its model is being called directly
            if ask is None or transaction.run.ended or late or not (at_it or ask.status == AskStatus.RUNNABLE):
                return _count_unused(transaction, ask, usage) or "discarded"
            given = {"new_response": response, "new_usage": settled_json(usage)}
            driver.run(transaction.connection, _ANSWER, [_of(ask) | given])
            if not at_it:
                _let_go_on(transaction, ask)
            return ask
        return "unknown"

    def put_back(self, batch_id: str, run_id: str, ask_id: str, error: str, *, most_tries: int) -> Kept:
        """Collect a call `again` that its batch did not answer; `discarded` where its ask no longer waits.

        After `most_tries` batches its model is called directly: the ask is given then, for a permit.
        """
        with suppress(NotFoundError), self._locked(run_id) as transaction:
            if not (found := _of_batch(transaction, batch_id, ask_id)):
                return "unknown"
            ask = transaction.ask(ask_id)
            if ask is None or transaction.run.ended or ask.status != AskStatus.RUNNABLE:
                _release(transaction, ask, found[0][0])
                _forget(transaction, ask_id)
                return "discarded"
            token, until, tries, _ = found[0]
            given = _of(ask) | {"new_error": storable(error), "at": transaction.now}
            if tries + 1 < most_tries and until > transaction.now:
                driver.run(transaction.connection, _AGAIN, [given])
                return "again"
            _release(transaction, ask, token)
            driver.run(transaction.connection, _LIVE, [given])
            _let_go_on(transaction, ask)
            return ask
        return "unknown"

    def clear_collected(self, providers: Sequence[str]) -> Cleared:
        """Release the reservations of calls that no batch will answer, and forget those of no use.

        At most `MOST_CLEARED` of them. Those whose runs others hold, or are damaged, are left to a later look.
        """
        if not providers:
            return Cleared(calls=0, unused=())
        with self._database.read() as connection:
            left = connection.execute(_LEFT, {"providers": list(providers)}).all()
        found = [self._if_free(run_id, partial(_cleared, ask_id=ask_id)) for run_id, ask_id in left]
        done = [unused for unused in found if unused is not None]
        return Cleared(calls=len(done), unused=[answer for unused in done for answer in unused])


def _of(ask: AskRecord) -> Json:
    return {"of_run": ask.run_id, "of_ask": ask.id}


def _of_batch(transaction: RunTransaction, batch_id: str, ask_id: str) -> driver.Rows:
    given = {"of_run": transaction.run.id, "of_ask": ask_id, "of_batch": batch_id}
    return driver.fetch(transaction.connection, _IN_BATCH, given)


def _let_go_on(transaction: RunTransaction, ask: AskRecord) -> None:
    driver.run(transaction.connection, _DUE_NOW, [_of(ask) | {"at": transaction.now}])


def _count_unused(transaction: RunTransaction, ask: AskRecord | None, usage: Usage) -> UnusedAnswer | None:
    """Count the usage of a response that no one needs, and forget the call; None if it cannot be counted."""
    if ask is None:
        return None
    count_and_tell(transaction, ask, ask.token, usage, [CallUsage(usage=usage, collected=True)])
    return UnusedAnswer(run=transaction.run, usage=usage)


def _release(transaction: RunTransaction, ask: AskRecord | None, token: int | None) -> None:
    if ask is not None and token is not None:
        release_reservations(transaction, ask, token)


def _forget(transaction: RunTransaction, ask_id: str) -> None:
    given = {"of_run": transaction.run.id, "of_ask": ask_id}
    driver.run(transaction.connection, sa.delete(collected_asks).where(*_place), [given])


def _cleared(transaction: RunTransaction, ask_id: str) -> list[UnusedAnswer]:
    """Release and forget a call, as far as it is still of no use. Return its response, if it has one."""
    rows = driver.fetch(transaction.connection, _STILL_LEFT, {"of_run": transaction.run.id, "of_ask": ask_id})
    if not rows:
        return []
    token, usage, until = rows[0]
    unused = None
    ask = transaction.ask(ask_id)
    waits = ask is not None and ask.status in _WAITING
    if ask is not None and usage is not None and not waits:
        unused = _count_unused(transaction, ask, read_usage(usage))
    elif usage is None and (not waits or until <= transaction.now):
        _release(transaction, ask, token)
        if ask is not None and waits:
            given = _of(ask) | {"new_error": None, "at": until}
            driver.run(transaction.connection, _LIVE, [given])
        else:
            _forget(transaction, ask_id)
    return [] if unused is None else [unused]
