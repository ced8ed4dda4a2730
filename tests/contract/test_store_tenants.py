"""The order of claims: priority, then the tenant's share, then age."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.record.database.database import Database
from turnwise.record.states import AskStatus
from turnwise.record.store import Store

Weigh = Callable[[dict[str, float]], Store]


@pytest.fixture
def weighing(database: Database) -> Weigh:
    return lambda weights: Store(database, tenant_weights=weights)


def served(store: Store, queue: str, claims: int) -> list[str]:
    """The tenants of the next claims."""
    worker = new_worker(store, queue)
    found = [store.worker.claim(queue, worker) for _ in range(claims)]
    return [claim.run.tenant for claim in found if claim is not None]


def flood(store: Store, queue: str, **asks: int) -> None:
    for tenant, number in asks.items():
        for _ in range(number):
            asked_run(store, queue, run={"tenant": tenant})


def test_a_tenant_that_comes_second_is_not_behind_the_flood_of_the_first(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    flood(store, queue, many=30, few=3)
    assert served(store, queue, 6) == ["many", "few"] * 3
    assert served(store, queue, 30) == ["many"] * 27


def test_tenants_are_served_by_weight(weighing: Weigh) -> None:
    store, queue = weighing({"a": 3, "b": 1}), new_queue()
    flood(store, queue, a=30, b=30, c=30)
    assert Counter(served(store, queue, 25)) == {"a": 15, "b": 5, "c": 5}


def test_weights_hold_however_short_an_ask_is_held(weighing: Weigh) -> None:
    """Nothing is leased when the next is claimed, so it is not the present load that counts."""
    store, queue = weighing({"a": 3}), new_queue()
    flood(store, queue, a=20, b=20)
    worker, tenants = new_worker(store, queue), []
    for _ in range(12):
        claim = store.worker.claim(queue, worker)
        assert claim is not None
        tenants.append(claim.run.tenant)
        with store.coordinator.locked(claim.run.id) as transaction:
            transaction.close_ask(claim.ask.id, AskStatus.ANSWERED)
    assert Counter(tenants) == {"a": 9, "b": 3}


def test_others_are_owed_what_a_tenant_got_without_being_chosen(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    flood(store, queue, carried=30, other=30)
    worker = new_worker(store, queue)
    claim = store.worker.claim(queue, worker)
    assert claim is not None and claim.run.tenant == "carried"
    with store.coordinator.locked(claim.run.id) as transaction:
        for _ in range(8):
            assert store.worker.may_carry(transaction, queue, worker)
    assert served(store, queue, 11) == ["other"] * 9 + ["carried", "other"]


def test_who_was_away_gets_its_share_and_not_what_it_left_before(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    flood(store, queue, busy=40, other=40)
    served(store, queue, 40)
    flood(store, queue, back=20)
    assert Counter(served(store, queue, 12)) == {"busy": 4, "other": 4, "back": 4}


def test_a_higher_priority_comes_first_whoever_has_it(weighing: Weigh) -> None:
    store, queue = weighing({"heavy": 100}), new_queue()
    flood(store, queue, heavy=3)
    for _ in range(3):
        asked_run(store, queue, run={"tenant": "light"}, priority=1)
    assert served(store, queue, 6) == ["light"] * 3 + ["heavy"] * 3


def test_within_a_tenant_priority_and_then_age_decide(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    old = asked_run(store, queue, run={"tenant": "a"})
    new = asked_run(store, queue, run={"tenant": "a"})
    urgent = asked_run(store, queue, run={"tenant": "a"}, priority=3)
    asked_run(store, queue, run={"tenant": "b"})
    worker = new_worker(store, queue)
    claims = [store.worker.claim(queue, worker) for _ in range(4)]
    mine = [claim.run.id for claim in claims if claim is not None and claim.run.tenant == "a"]
    assert mine == [urgent.id, old.id, new.id]


def test_asks_of_a_tenant_that_are_not_due_keep_nobody_waiting(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    for _ in range(3):
        asked_run(store, queue, run={"tenant": "a"}, due_at=9e9)
    flood(store, queue, b=2)
    assert served(store, queue, 3) == ["b", "b"]


def test_one_tenant_alone_leaves_no_share_behind(weighing: Weigh) -> None:
    store, queue = weighing({}), new_queue()
    flood(store, queue, alone=3)
    assert served(store, queue, 3) == ["alone"] * 3
    with store.database.read() as connection:
        rows = connection.exec_driver_sql(f"SELECT * FROM tenant_shares WHERE queue = '{queue}'").all()
    assert rows == []
