"""Events that tell what a run has used: on each database they agree with the run's sums."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.support.reservation_parts import claimed, data_of, reply_of, reserved, used
from tests.support.store_parts import lose

from turnwise.base.waits import BudgetWait
from turnwise.record.store import Store
from turnwise.record.values.outcomes import CallUsage, Deferral, Reply
from turnwise.record.values.records import Usage


def told(store: Store, run_id: str) -> tuple[Decimal, int]:
    """Return the cost and the number of calls that the events tell, with all corrections."""
    events = [
        (data, data.get("corrects") or {"cost": "0", "calls": 0}) for data in data_of(store, run_id, "usage.settled")
    ]
    cost = sum((Decimal(data["cost"]) - Decimal(before["cost"]) for data, before in events), Decimal(0))
    return cost, sum(data["calls"] - before["calls"] for data, before in events)


def counted(store: Store, run_id: str) -> tuple[Decimal, int]:
    run = store.inspector.run(run_id)
    return run.cost, run.calls


def test_a_call_that_was_settled_before_its_holder_was_lost_is_told_as_well(store: Store) -> None:
    claim = claimed(store, max_tokens=10_000)
    reserved(store, claim, 1)
    reserved(store, claim, 2, done=[used(1, 90, 30)])
    assert told(store, claim.run.id) == counted(store, claim.run.id) == (Decimal("0.15"), 1)

    lose(store, claim)
    assert told(store, claim.run.id) == counted(store, claim.run.id) == (Decimal("1.05"), 2)
    late = Reply(kind="answer", usage=used(1, 180, 40).usage, calls=(used(1, 90, 30), used(2, 90, 10)))
    assert not store.worker.reply(claim, late)

    assert told(store, claim.run.id) == counted(store, claim.run.id) == (Decimal("0.26"), 2)


def test_calls_of_one_answer_are_told_once_each(store: Store) -> None:
    claim = claimed(store, max_tokens=10_000)
    reserved(store, claim, 1)
    reserved(store, claim, 2, done=[used(1, 90, 30)])
    nothing = CallUsage(usage=Usage(calls=0, cost=Decimal(0), model="m"), call_no=2)
    reserved(store, claim, 3, done=[nothing])

    assert store.worker.reply(claim, reply_of(used(1, 90, 30), nothing, used(3, 90, 10)))

    assert told(store, claim.run.id) == counted(store, claim.run.id) == (Decimal("0.26"), 2)
    assert [data.get("call") for data in data_of(store, claim.run.id, "usage.settled")] == [1, None]


@pytest.mark.parametrize("end", ["reply", "defer"])
def test_unlimited_calls_of_a_holder_that_was_taken_for_lost_are_told(store: Store, end: str) -> None:
    claim = claimed(store)
    lose(store, claim)
    plain = CallUsage(usage=Usage(prompt_tokens=90, completion_tokens=30, cost=Decimal("0.15"), model="m"))

    if end == "reply":
        assert not store.worker.reply(claim, reply_of(plain))
    else:
        wait = BudgetWait(scope="run", limit="cost")
        late = Deferral(seconds=1.0, waiting_for=wait, usage=plain.usage, calls=(plain,))
        assert not store.worker.defer(claim, late)

    assert told(store, claim.run.id) == counted(store, claim.run.id) == (Decimal("0.15"), 1)
