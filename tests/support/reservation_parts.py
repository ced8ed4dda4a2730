"""Calls, claims and reservations that tests of budgets are made of, and what is on record of them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import Granted, ModelCall
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS, Key, ScopeLimits
from turnwise.record.database.budget_tables import budgets
from turnwise.record.store import Store
from turnwise.record.values.outcomes import CallUsage, Reply
from turnwise.record.values.records import Claim, RunRecord, Usage

IN, OUT = Decimal("0.001"), Decimal("0.002")


def call(prompt: int = 100, least: int = 10, most: int = 400) -> ModelCall:
    def price(prompt_tokens: int, output_tokens: int) -> Amount:
        cost = IN * prompt_tokens + OUT * output_tokens
        return Amount(prompt_tokens=prompt_tokens, output_tokens=output_tokens, cost=cost)

    return ModelCall(model="m", prompt=lambda: prompt, price=price, least=least, most=most)


def used(no: int, prompt: int, output: int, **more: Any) -> CallUsage:
    cost = IN * prompt + OUT * output
    return CallUsage(
        usage=Usage(prompt_tokens=prompt, completion_tokens=output, cost=cost, model="m"), call_no=no, **more
    )


def reply_of(*calls: CallUsage) -> Reply:
    return Reply(kind="answer", usage=calls[0].usage if calls else None, calls=calls)


def claimed(store: Store, *, worker: str = "", **run: Any) -> Claim:
    queue = new_queue()
    asked_run(store, queue, run=run)
    claim = store.worker.claim(queue, worker or new_worker(store, queue))
    assert claim is not None
    return claim


def reserved(store: Store, claim: Claim, no: int = 1, limits: ScopeLimits = NO_SCOPE_LIMITS, **more: Any) -> Granted:
    answer = store.worker.reserve(claim, no, more.pop("call", call()), limits, **more)
    assert isinstance(answer, Granted)
    return answer


def sums(run: RunRecord) -> tuple[Decimal, int, Decimal, int]:
    return run.cost, run.prompt_tokens + run.completion_tokens, run.reserved_cost, run.reserved_tokens


def book(store: Store, key: Key) -> tuple[Decimal, int, Decimal, int]:
    with store.database.read() as connection:
        rows = connection.execute(budgets.select().where(budgets.c.scope == key[0], budgets.c.scope_id == key[1])).all()
    assert len(rows) == 1
    row = rows[0]
    return row.spent_cost, row.spent_tokens, row.reserved_cost, row.reserved_tokens


def data_of(store: Store, run_id: str, type: str) -> list[dict[str, Any]]:
    return [event.data or {} for event in store.inspector.events(run_id) if event.type == type]


def this_day(tenant: str) -> Key:
    return ("tenant_day", f"{tenant}/{datetime.now(UTC):%Y-%m-%d}")
