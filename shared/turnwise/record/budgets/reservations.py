"""Room for model calls, reserved before each and settled after it (`settlement`), whatever became of the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import sqlalchemy as sa

from turnwise.models.budget.budget import NOTHING, Amount
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall, grant
from turnwise.models.budget.wait import Wait
from turnwise.record.budgets.batch_stop import stop_batch
from turnwise.record.budgets.budgets import BATCH, Books, Key, ScopeLimits
from turnwise.record.budgets.settlement import keys_of, rows_of, settle, settle_lost
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import reservations
from turnwise.record.database.columns import now, word
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.database.schema import asks, runs, workers
from turnwise.record.events.usage_events import UsageReserved, UsageSettled
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.sweeping_part import SweepingPart
from turnwise.record.values.outcomes import CallUsage
from turnwise.record.values.records import AskRecord, Claim, Json, RunRecord

_BATCH = 100
# Seconds after which no one waits for the result of a batch.
_BATCH_IS_LOST = 172_800.0

_HOLDER = sa.select(asks.c.status, asks.c.token).where(
    asks.c.run_id == sa.bindparam("run_id"), asks.c.id == sa.bindparam("ask_id")
)
_LIMITS = sa.select(runs.c.max_cost, runs.c.max_tokens).where(runs.c.id == sa.bindparam("of_run"))
_INSERT = sa.insert(reservations)
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

    def with_limits(self, run: RunRecord) -> RunRecord:
        """Return the run with the limits of its own that it has now; as it is given, if it was deleted."""
        with self._database.read() as connection:
            row = connection.execute(_LIMITS, {"of_run": run.id}).first()
        return run if row is None else replace(run, max_cost=row[0], max_tokens=row[1])

    def reserve(
        self,
        claim: Claim,
        call_no: int,
        call: ModelCall,
        limits: ScopeLimits,
        *,
        done: Sequence[CallUsage] = (),
        uncounted: Amount = NOTHING,
        take: Take | None = None,
        again: bool = False,
    ) -> Answer:
        """Reserve room for call `call_no` of the claim, in the run's budget and in those that `limits` asks for.

        `done` are earlier calls of the claim, settled on the way, whatever becomes of this one. `uncounted` is what
        others of it have used without a reservation, while the run had no limit. `take` is asked last.
        `again` after a lost connection: the answer may have got lost alone, and is given once more then.
        """
        with self._locked(claim.ask.run_id, claim.known) as transaction:
            rows = driver.fetch(transaction.connection, _HOLDER, _place(claim.ask))
            if transaction.run.ended or not rows or tuple(rows[0]) != (AskStatus.LEASED, claim.token):
                return Stale()
            known = rows_of(transaction, claim.ask.run_id, claim.ask.id, claim.token) if done or again else {}
            if (kept := known.get(call_no)) is not None:
                return Granted(max_tokens=kept.amount.output_tokens or call.most, amount=kept.amount)
            keys = limits.keys(transaction.run, transaction.now)
            books = Books(transaction, keys + keys_of(known), limits)
            for each in done:
                # Told at once: if the holder is lost before it replies, nothing else ever tells of this call.
                used = settle(transaction, books, claim.ask, claim.token, known, each)
                if used is not None and used.calls:
                    settled = UsageSettled(usage=used, call=each.call_no, lost=each.lost)
                    transaction.event(settled, claim.ask.place)
            answer = self._granted(transaction, books, keys, call, uncounted, take)
            if isinstance(answer, Granted):
                self._keep(transaction, books, keys, claim, call_no, call.model, answer)
            books.save()
        return answer

    def _granted(
        self,
        transaction: RunTransaction,
        books: Books,
        keys: list[Key],
        call: ModelCall,
        uncounted: Amount,
        take: Take | None,
    ) -> Granted | BudgetRefusal | Wait:
        own, *shared = books.paying(keys)
        answer = grant(call, [own.spend(uncounted), *shared])
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


class OrphanedReservations(SweepingPart):
    """Settles reservations that are no longer reported on."""

    def settle_orphans(self) -> int:
        """Count reservations whose holder is gone, and whose ask no longer waits, as used. Return the number of calls.

        Those of asks that are taken over were settled with it; these are of runs that ended meanwhile.
        """
        with self._database.read() as connection:
            lost = connection.execute(_ORPHANS).all()
        settled = (
            self._if_free(run_id, partial(settle_lost, ask_id=ask_id, token=token)) for run_id, ask_id, token in lost
        )
        return sum(calls or 0 for calls in settled)


def _stop_batch(transaction: RunTransaction, refusal: BudgetRefusal) -> None:
    """Begin no further item of a batch whose budget refuses a call that no waiting would help."""
    if refusal.budget.scope == BATCH and not refusal.temporary:
        stop_batch(transaction.connection, refusal.budget.scope_id, refusal.limit)


def _place(ask: AskRecord) -> Json:
    return {"run_id": ask.run_id, "ask_id": ask.id}
