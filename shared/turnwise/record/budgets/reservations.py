"""Room for model calls, reserved before each and settled after it, whatever became of the call.

A reservation is settled once: with what the call used, as its holder reports with the reply; with all of it, if the
holder was lost with the call; with nothing, if the call was never made. A holder that was taken for lost and reports
after all corrects it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import sqlalchemy as sa

from turnwise.models.budget.budget import NOTHING, Amount
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall, grant
from turnwise.models.budget.wait import Wait
from turnwise.record.budgets.batch_stop import stop_batch
from turnwise.record.budgets.budgets import BATCH, Books, Key, ScopeLimits
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import reservations
from turnwise.record.database.columns import now, word
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.database.schema import asks, workers
from turnwise.record.events.event import EventPlace
from turnwise.record.events.usage_events import UsageReserved, UsageSettled
from turnwise.record.provider_batches.collecting import forget_request
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import CallUsage
from turnwise.record.values.records import AskRecord, Claim, Json, Usage

_BATCH = 100
# Seconds after which no one waits for the result of a batch.
_BATCH_IS_LOST = 172_800.0

_HOLDER = sa.select(asks.c.status, asks.c.token).where(
    asks.c.run_id == sa.bindparam("run_id"), asks.c.id == sa.bindparam("ask_id")
)
_ROWS = sa.select(
    reservations.c.call_no,
    reservations.c.model,
    reservations.c.budgets,
    reservations.c.prompt_tokens,
    reservations.c.tokens,
    reservations.c.cost,
    reservations.c.settled_at,
    reservations.c.lost,
).where(
    reservations.c.run_id == sa.bindparam("run_id"),
    reservations.c.ask_id == sa.bindparam("ask_id"),
    reservations.c.token == sa.bindparam("token"),
)
_INSERT = sa.insert(reservations)
_SETTLE = (
    sa.update(reservations)
    .where(
        reservations.c.run_id == sa.bindparam("of_run"),
        reservations.c.ask_id == sa.bindparam("of_ask"),
        reservations.c.token == sa.bindparam("of_token"),
        reservations.c.call_no == sa.bindparam("of_call"),
    )
    .values(
        settled_cost=sa.bindparam("new_cost", type_=reservations.c.settled_cost.type),
        settled_tokens=sa.bindparam("new_tokens", type_=sa.BigInteger),
        settled_at=sa.bindparam("at", type_=sa.Double),
        lost=sa.bindparam("new_lost", type_=sa.Boolean),
    )
)
_ORPHANS = (
    sa.select(reservations.c.run_id, reservations.c.ask_id, reservations.c.token)
    .where(
        reservations.c.settled_at.is_(None),
        ~sa.exists().where(workers.c.id == reservations.c.worker_id, workers.c.state == word("alive")),
        # No worker holds a call that waits for a batch.
        ~sa.exists().where(
            collected_asks.c.run_id == reservations.c.run_id,
            collected_asks.c.ask_id == reservations.c.ask_id,
            collected_asks.c.token == reservations.c.token,
            collected_asks.c.until > now() - _BATCH_IS_LOST,
        ),
    )
    .distinct()
    .limit(_BATCH)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """The claim is no longer held, or its run has ended: no call may be made under it."""


# Takes the call from the limits of its provider, in the reservation's transaction; a `Wait` if they have no room now.
Take = Callable[[RunTransaction, ModelCall, Granted], Wait | None]
Answer = Granted | BudgetRefusal | Wait | Stale


class Reservations(RecordPart):
    """The guarded transactions that keep calls within the budgets, however many are made at once and wherever."""

    def reserve(
        self,
        claim: Claim,
        call_no: int,
        call: ModelCall,
        limits: ScopeLimits,
        *,
        done: Sequence[CallUsage] = (),
        take: Take | None = None,
        again: bool = False,
    ) -> Answer:
        """Reserve room for call `call_no` of the claim, in the run's budget and in those that `limits` asks for.

        `done` are earlier calls of the claim, settled on the way, whatever becomes of this one. `take` is asked last.
        `again` after a lost connection: the answer may have got lost alone, and is given once more then.
        """
        with self._locked(claim.ask.run_id, claim.known) as transaction:
            rows = driver.fetch(transaction.connection, _HOLDER, _place(claim.ask))
            if transaction.run.ended or not rows or tuple(rows[0]) != (AskStatus.LEASED, claim.token):
                return Stale()
            known = _rows(transaction, claim.ask.run_id, claim.ask.id, claim.token) if done or again else {}
            if (kept := known.get(call_no)) is not None:
                return Granted(max_tokens=kept.amount.output_tokens or call.most, amount=kept.amount)
            keys = limits.keys(transaction.run, transaction.now)
            books = Books(transaction, keys + _keys_of(known), limits)
            for each in done:
                # Told at once: if the holder is lost before it replies, nothing else ever tells of this call.
                used = _settle(transaction, books, claim.ask, claim.token, known, each)
                if used is not None and used.calls:
                    settled = UsageSettled(usage=used, call=each.call_no, lost=each.lost)
                    transaction.event(settled, claim.ask.place)
            answer = self._granted(transaction, books, keys, call, take)
            if isinstance(answer, Granted):
                self._keep(transaction, books, keys, claim, call_no, call.model, answer)
            books.save()
        return answer

    def _granted(
        self, transaction: RunTransaction, books: Books, keys: list[Key], call: ModelCall, take: Take | None
    ) -> Granted | BudgetRefusal | Wait:
        answer = grant(call, books.paying(keys))
        if isinstance(answer, BudgetRefusal):
            _stop_batch(transaction, answer)
            return answer
        if take is None:
            return answer
        if answer.amount is NOTHING:  # no budget asked for it, but the provider's limits may
            answer = Granted(max_tokens=answer.max_tokens, amount=call.amount(answer.max_tokens))
        return take(transaction, call, answer) or answer

    def _keep(
        self,
        transaction: RunTransaction,
        books: Books,
        keys: list[Key],
        claim: Claim,
        call_no: int,
        model: str,
        granted: Granted,
    ) -> None:
        amount, ask = granted.amount, claim.ask
        row = {
            "run_id": ask.run_id,
            "ask_id": ask.id,
            "token": claim.token,
            "call_no": call_no,
            "model": model,
            "worker_id": claim.worker_id,
            "budgets": [list(key) for key in keys],
            "prompt_tokens": amount.prompt_tokens,
            "tokens": amount.tokens,
            "cost": amount.cost,
            "created_at": transaction.now,
        }
        driver.run(transaction.connection, _INSERT, [row])
        books.reserve(keys, amount)
        reserved = UsageReserved(
            call=call_no,
            model=model,
            tokens=amount.tokens,
            cost=amount.cost,
            max_output_tokens=granted.max_tokens,
        )
        transaction.event(reserved, ask.place)


class OrphanedReservations(RecordPart):
    """Settles reservations that are no longer reported on."""

    def settle_orphans(self) -> int:
        """Count reservations whose holder is gone, and whose ask no longer waits, as used. Return the number of calls.

        Those of asks that are taken over were settled with it; these are of runs that ended meanwhile.
        """
        with self._database.read() as connection:
            lost = connection.execute(_ORPHANS).all()
        settled = 0
        for run_id, ask_id, token in lost:
            with self._lock_run(run_id, skip_locked=True) as transaction:
                if transaction is not None:
                    settled += settle_lost(transaction, ask_id, token)
        return settled


def count(
    transaction: RunTransaction, ask: AskRecord, token: int, usage: Usage | None, calls: Sequence[CallUsage]
) -> list[CallUsage]:
    """Count what a claim's calls used, in the run's sums and in the budgets they were reserved in.

    `calls` are all of them; without any, `usage` is all there is to know. Return those that are counted with this:
    others were settled, and told, on the way.
    """
    counted: list[CallUsage] = []
    groups: list[tuple[int, list[CallUsage]]] = []
    for call in calls if calls or usage is None else [CallUsage(usage=usage)]:
        if call.collected:
            found = _of_collected(transaction, ask, call)
            groups += found or []
            counted += [call] if found == [] else []
        elif call.call_no is None:
            transaction.add_usage(call.usage)
            counted.append(call)
    if reserved := [call for call in calls if call.call_no is not None]:
        groups.append((token, reserved))
    if groups:
        known = {held: _rows(transaction, ask.run_id, ask.id, held) for held, _ in groups}
        books = Books(transaction, [key for rows in known.values() for key in _keys_of(rows)])
        for held, made in groups:
            for call in made:
                if _settle(transaction, books, ask, held, known[held], call) is not None:
                    counted.append(call)
        books.save()
    return counted


def count_and_tell(
    transaction: RunTransaction, ask: AskRecord, token: int, usage: Usage | None, calls: Sequence[CallUsage]
) -> None:
    """Count what the calls of a claim used, and say in an event what that adds to the run's sums.

    The claim may be held no longer. A run that has ended has no more events.
    """
    counted = count(transaction, ask, token, usage, calls)
    if transaction.run.ended or not any(call.usage.calls for call in counted):
        return
    # Not `usage` as it is: it has calls that were told on the way, and lacks those that are still under way.
    told = _sum(counted, (usage or counted[0].usage).model)
    transaction.event(UsageSettled(usage=told, lost=any(call.lost for call in counted)), ask.place)


def _of_collected(
    transaction: RunTransaction, ask: AskRecord, call: CallUsage
) -> list[tuple[int, list[CallUsage]]] | None:
    """The call that a batch answered, with the token that it was reserved under; nothing where nothing was reserved,
    None if another attempt has counted it.
    """
    found = forget_request(transaction, ask)
    if found is None:
        return None
    token, call_no = found
    if token is None or call_no is None:
        transaction.add_usage(call.usage)
        return []
    return [(token, [replace(call, call_no=call_no)])]


def release_reservations(transaction: RunTransaction, ask: AskRecord, token: int) -> None:
    """Settle what a claim has reserved and not used: no call was made with it."""
    known = {no: row for no, row in _rows(transaction, ask.run_id, ask.id, token).items() if row.settled_at is None}
    if known:
        books = Books(transaction, _keys_of(known))
        for row in known.values():
            books.settle(row.keys, row.amount, NOTHING)
            _close(transaction, ask.id, token, row, NOTHING, lost=False)
        books.save()


def settle_lost(transaction: RunTransaction, ask_id: str, token: int, ask: AskRecord | None = None) -> int:
    """Count all that a lost holder has reserved as used, and say so in an event. Return the number of calls.

    A run that has ended has no more events.
    """
    run_id = transaction.run.id
    known = _rows(transaction, run_id, ask_id, token)
    lost = [row for row in known.values() if row.settled_at is None]
    if not lost:
        return 0
    books = Books(transaction, _keys_of(known))
    for row in lost:
        books.settle(row.keys, row.amount, row.amount)
        _close(transaction, ask_id, token, row, row.amount, lost=True)
        transaction.add_usage(_usage(row.amount, row.model))
        if not transaction.run.ended:
            place = ask.place if ask is not None else EventPlace(ask_id=ask_id)
            settled = UsageSettled(usage=_usage(row.amount, row.model), call=row.call_no, lost=True)
            transaction.event(settled, place)
    books.save()
    return len(lost)


@dataclass(frozen=True, slots=True)
class _Row:
    call_no: int
    model: str
    keys: list[Key]
    amount: Amount
    settled_at: float | None
    lost: bool


def _rows(transaction: RunTransaction, run_id: str, ask_id: str, token: int) -> dict[int, _Row]:
    found = driver.fetch(transaction.connection, _ROWS, {"run_id": run_id, "ask_id": ask_id, "token": token})
    rows = {}
    for no, model, keys, prompt, tokens, cost, settled_at, lost in found:
        amount = Amount(prompt_tokens=prompt, output_tokens=tokens - prompt, cost=cost)
        rows[no] = _Row(no, model, [(scope, id) for scope, id in keys or ()], amount, settled_at, bool(lost))
    return rows


def _settle(
    transaction: RunTransaction, books: Books, ask: AskRecord, token: int, known: dict[int, _Row], call: CallUsage
) -> Usage | None:
    """Settle one call, unless it was; one that was taken for lost is corrected, with an event of its own.

    Return what is still to be told in an event, None for nothing.
    """
    assert call.call_no is not None, "only what was reserved is settled"
    row = known.get(call.call_no)
    if row is None or (row.settled_at is not None and (not row.lost or call.lost)):
        return None
    used, first = _amount(call.usage), row.settled_at is None
    if first:
        books.settle(row.keys, row.amount, used)
        transaction.add_usage(call.usage)
    else:
        books.correct(row.keys, row.amount, used)
        transaction.add_usage(_difference(call.usage, _usage(row.amount, row.model)))
        if not transaction.run.ended:
            corrected = UsageSettled(usage=call.usage, call=row.call_no, corrects=_usage(row.amount, None))
            transaction.event(corrected, ask.place)
    _close(transaction, ask.id, token, row, used, lost=call.lost)
    return call.usage if first else None


def _close(transaction: RunTransaction, ask_id: str, token: int, row: _Row, used: Amount, *, lost: bool) -> None:
    given = {
        "of_run": transaction.run.id,
        "of_ask": ask_id,
        "of_token": token,
        "of_call": row.call_no,
        "new_cost": used.cost,
        "new_tokens": used.tokens,
        "new_lost": lost,
        "at": transaction.now,
    }
    driver.run(transaction.connection, _SETTLE, [given])


def _stop_batch(transaction: RunTransaction, refusal: BudgetRefusal) -> None:
    """Begin no further item of a batch whose budget refuses a call that no waiting would help."""
    if refusal.budget.scope == BATCH and not refusal.temporary:
        stop_batch(transaction.connection, refusal.budget.scope_id, refusal.limit)


def _place(ask: AskRecord) -> Json:
    return {"run_id": ask.run_id, "ask_id": ask.id}


def _keys_of(rows: dict[int, _Row]) -> list[Key]:
    return [key for row in rows.values() for key in row.keys]


def _amount(usage: Usage) -> Amount:
    return Amount(prompt_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, cost=usage.cost)


def _usage(amount: Amount, model: str | None) -> Usage:
    return Usage(
        prompt_tokens=amount.prompt_tokens, completion_tokens=amount.output_tokens, cost=amount.cost, model=model
    )


def _sum(calls: Sequence[CallUsage], model: str | None) -> Usage:
    used = [call.usage for call in calls]
    costs = [each.cost for each in used if each.cost is not None]
    return Usage(
        prompt_tokens=sum(each.prompt_tokens for each in used),
        cached_tokens=sum(each.cached_tokens for each in used),
        completion_tokens=sum(each.completion_tokens for each in used),
        calls=sum(each.calls for each in used),
        cost=sum(costs, Decimal(0)) if len(costs) == len(used) else None,
        model=model,
        doubt=next((each.doubt for each in used if each.doubt), ""),
    )


def _difference(usage: Usage, counted: Usage) -> Usage:
    return Usage(
        prompt_tokens=usage.prompt_tokens - counted.prompt_tokens,
        cached_tokens=usage.cached_tokens - counted.cached_tokens,
        completion_tokens=usage.completion_tokens - counted.completion_tokens,
        calls=usage.calls - counted.calls,
        cost=(usage.cost or Decimal(0)) - (counted.cost or Decimal(0)),
        model=usage.model,
    )
