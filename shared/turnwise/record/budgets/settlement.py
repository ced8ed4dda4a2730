"""The end of reservations: the use of a claim's calls, counted in the run's sums and its budgets, and told in events.

A reservation is settled once: with what the call used, as its holder reports with the reply; with all of it, if the
holder was lost with the call; with nothing, if the call was never made. A holder that was taken for lost and reports
after all corrects it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import sqlalchemy as sa

from turnwise.models.budget.budget import NOTHING, Amount
from turnwise.record.budgets.budgets import Books, Key
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import reservations
from turnwise.record.events.event import EventPlace
from turnwise.record.events.usage_events import UsageSettled
from turnwise.record.provider_batches.collecting import forget_request
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import CallUsage
from turnwise.record.values.records import AskRecord, Usage

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


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for one call of a claim, in the budgets of these `keys`; `lost` if it was counted for a lost holder."""

    call_no: int
    model: str
    keys: list[Key]
    amount: Amount
    settled_at: float | None
    lost: bool


def _count(
    transaction: RunTransaction, ask: AskRecord, token: int, usage: Usage | None, calls: Sequence[CallUsage]
) -> list[CallUsage]:
    """Count what a claim's calls used, in the run's sums and in the budgets they were reserved in.

    `calls` are all of them; without any, `usage` is all there is to know. Return those that are counted with this:
    others were settled, and told, on the way.
    """
    counted: list[CallUsage] = []
    groups: list[tuple[int, list[CallUsage]]] = []
    for call in calls if calls or usage is None else [CallUsage(usage=usage)]:
        kept = forget_request(transaction, ask) if call.collected else (None, call.call_no)
        if kept is None:  # a batch's answer, which another attempt has counted
            continue
        held, no = kept
        if held is not None and no is not None:
            groups.append((held, [replace(call, call_no=no)]))
        elif call.call_no is None:
            transaction.add_usage(call.usage)
            counted.append(call)
    if reserved := [call for call in calls if call.call_no is not None]:
        groups.append((token, reserved))
    if groups:
        known = {held: rows_of(transaction, ask.run_id, ask.id, held) for held, _ in groups}
        books = Books(transaction, [key for rows in known.values() for key in keys_of(rows)])
        for held, made in groups:
            for call in made:
                if settle(transaction, books, ask, held, known[held], call) is not None:
                    counted.append(call)
        books.save()
    return counted


def count_and_tell(
    transaction: RunTransaction, ask: AskRecord, token: int, usage: Usage | None, calls: Sequence[CallUsage]
) -> None:
    """Count what the calls of a claim used, and say in an event what that adds to the run's sums.

    The claim may be held no longer. A run that has ended has no more events.
    """
    counted = _count(transaction, ask, token, usage, calls)
    if transaction.run.ended or not any(call.usage.calls for call in counted):
        return
    # Not `usage` as it is: it has calls that were told on the way, and lacks those that are still under way.
    told = _sum(counted, (usage or counted[0].usage).model)
    transaction.event(UsageSettled(usage=told, lost=any(call.lost for call in counted)), ask.place)


def release_reservations(transaction: RunTransaction, ask: AskRecord, token: int) -> None:
    """Settle what a claim has reserved and not used: no call was made with it."""
    known = {no: row for no, row in rows_of(transaction, ask.run_id, ask.id, token).items() if row.settled_at is None}
    if known:
        books = Books(transaction, keys_of(known))
        for row in known.values():
            books.settle(row.keys, row.amount, NOTHING)
            _close(transaction, ask.id, token, row, NOTHING, lost=False)
        books.save()


def settle_lost(transaction: RunTransaction, ask_id: str, token: int, ask: AskRecord | None = None) -> int:
    """Count all that a lost holder has reserved as used, and say so in an event. Return the number of calls.

    A run that has ended has no more events.
    """
    run_id = transaction.run.id
    known = rows_of(transaction, run_id, ask_id, token)
    lost = [row for row in known.values() if row.settled_at is None]
    if not lost:
        return 0
    books = Books(transaction, keys_of(known))
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


def rows_of(transaction: RunTransaction, run_id: str, ask_id: str, token: int) -> dict[int, Reservation]:
    """Return what a claim has reserved, by the number of the call."""
    found = driver.fetch(transaction.connection, _ROWS, {"run_id": run_id, "ask_id": ask_id, "token": token})
    rows = {}
    for no, model, keys, prompt, tokens, cost, settled_at, lost in found:
        amount = Amount(prompt_tokens=prompt, output_tokens=tokens - prompt, cost=cost)
        rows[no] = Reservation(no, model, [(scope, id) for scope, id in keys or ()], amount, settled_at, bool(lost))
    return rows


def believed(transaction: RunTransaction, ask_id: str, token: int | None, call_no: int | None, usage: Usage) -> Usage:
    """The usage, or all that was reserved for its call if the provider's count is doubted and something was."""
    if not usage.doubt or token is None or call_no is None:
        return usage
    row = rows_of(transaction, transaction.run.id, ask_id, token).get(call_no)
    return usage if row is None else replace(_usage(row.amount, usage.model), doubt=usage.doubt)


def settle(
    transaction: RunTransaction,
    books: Books,
    ask: AskRecord,
    token: int,
    known: dict[int, Reservation],
    call: CallUsage,
) -> Usage | None:
    """Settle one call, unless it was; one that was taken for lost is corrected, with an event of its own.

    Return what is still to be told in an event, None for nothing.
    """
    assert call.call_no is not None, "only what was reserved is settled"
    row = known.get(call.call_no)
    if row is None or (row.settled_at is not None and (not row.lost or call.lost)):
        return None
    used, first = Amount.of(call.usage), row.settled_at is None
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


def _close(transaction: RunTransaction, ask_id: str, token: int, row: Reservation, used: Amount, *, lost: bool) -> None:
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


def keys_of(rows: dict[int, Reservation]) -> list[Key]:
    """Return the budgets that the rows are reserved in."""
    return [key for row in rows.values() for key in row.keys]


def _usage(amount: Amount, model: str | None) -> Usage:
    return Usage(
        prompt_tokens=amount.prompt_tokens, completion_tokens=amount.output_tokens, cost=amount.cost, model=model
    )


def _sum(calls: Sequence[CallUsage], model: str | None) -> Usage:
    used = [call.usage for call in calls]
    if len(used) == 1 and used[0].model == model:  # as in nearly every turn
        return used[0]
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
