from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, DatabaseUnavailableError, QuotaExceededError, RepeatedRequestError
from turnwise.record.runs.submission import ids_of_batch
from turnwise.record.store import Store
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.transaction.idempotency import Once
from turnwise.record.values.records import NewRun, RunFilter


def a_tenant() -> str:
    return new_id("tenant").replace("_", "-")


def batch(count: int) -> list[NewRun]:
    return [new_run(message={"content": f"message {no}"}) for no in range(count)]


def test_a_batch_keeps_its_runs_in_order_with_their_first_events(store: Store) -> None:
    tenant, new = a_tenant(), batch(3)
    new[1] = replace(new[1], deadline=60.0, tags=("vip",), priority=4)

    made = store.tenant(tenant).submit_all(new)

    assert [run.id for run in made] == [one.id for one in new]
    assert made == [store.inspector.run(one.id) for one in new]
    assert made[1].deadline_at == made[1].created_at + 60
    assert [[event.type for event in store.inspector.events(run.id)] for run in made] == [["run.accepted"]] * 3
    assert [run.move_due_at for run in made] == [run.created_at for run in made]


def test_runs_of_a_batch_take_their_places_in_their_sessions(store: Store) -> None:
    record = store.tenant(a_tenant())
    earlier, _ = record.submit(new_run(session_id="a"))

    made = record.submit_all([new_run(session_id=session) for session in ("b", "a", None, "b", "a")])

    places = [(run.session_id, run.session_no) for run in made]
    assert places == [("b", 1), ("a", 2), (None, None), ("b", 2), ("a", 3)]
    assert made[1].session_key == made[4].session_key == earlier.session_key


def test_a_batch_that_cannot_be_written_as_a_whole_leaves_nothing(store: Store) -> None:
    record, new = store.tenant(a_tenant()), batch(3)
    new[2] = replace(new[2], id=new[0].id)

    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        record.submit_all(new)

    assert record.runs(RunFilter(), None, 10)[0] == []


def test_all_runs_of_a_batch_count_for_the_limit_of_unfinished_runs(store: Store) -> None:
    tenant = a_tenant()
    record = store.tenant(tenant, max_unfinished_runs=4)
    record.submit(new_run())

    with pytest.raises(QuotaExceededError, match=r"1 runs of .* and it may have 4 at a time, and 4 more are asked for"):
        record.submit_all(batch(4))
    made = record.submit_all(batch(3))

    assert len(made) == 3
    with pytest.raises(QuotaExceededError):
        record.submit(new_run())


def test_a_batch_is_made_once_for_a_key(store: Store) -> None:
    tenant, new = a_tenant(), batch(2)
    once = Once(tenant=tenant, key="key", digest="body")
    store.tenant(tenant, once=once).submit_all(new)

    with pytest.raises(RepeatedRequestError) as repeated:
        store.tenant(tenant, once=once).submit_all(batch(2))
    with pytest.raises(ConflictError, match="used with another request body, for several runs;"):
        store.tenant(tenant, once=replace(once, digest="other")).submit_all(batch(2))
    with pytest.raises(ConflictError, match="used with another request body"):
        store.tenant(tenant).submit(new_run(idempotency_key="key", body_hash="body"))

    assert ids_of_batch(repeated.value.resource) == [one.id for one in new]
    assert len(store.tenant(tenant).runs(RunFilter(), None, 10)[0]) == 2


def test_batches_that_share_sessions_do_not_wait_for_each_other_for_ever(store: Store) -> None:
    record, failures = store.tenant(a_tenant()), []

    def submit(sessions: list[str]) -> None:
        try:
            for _ in range(10):
                record.submit_all([new_run(session_id=session) for session in sessions])
        except (ConflictError, DatabaseUnavailableError) as error:
            failures.append(error)

    names = [f"s{no}" for no in range(8)]
    threads = [threading.Thread(target=submit, args=[one]) for one in (names, names[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert {one.runs for one in (record.session(name) for name in names)} == {20}


def test_each_run_of_a_batch_is_in_the_audit_log(store: Store) -> None:
    tenant = a_tenant()
    deed = Deed(actor="key:abc", tenant=tenant, action="submit_batch")

    made = store.tenant(tenant, deed=deed).submit_all(batch(2))

    found = store.administrator(OneTenant(tenant)).audit(None, 10)
    assert {row.resource for row in found} == {run.id for run in made}
