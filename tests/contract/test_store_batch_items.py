"""Batches on record, on each database: their items, their runs, their budget and their end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import until_it_waits
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError, RepeatedRequestError
from turnwise.record.batches.batch_record import BatchRecord, BatchStatus, ItemStatus, NewBatch, NewItem
from turnwise.record.database.batch_tables import batch_sums, batches, replaced_batch_runs
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.admission import lock_admission
from turnwise.record.transaction.idempotency import Once
from turnwise.record.values.records import RunFilter, RunRecord, Usage

USAGE = Usage(model="gpt-x", prompt_tokens=7, completion_tokens=2, calls=1, cost=Decimal("0.25"))


def a_tenant() -> str:
    return new_id("tenant").replace("_", "-")


def a_batch(concurrency: int = 100, **more: object) -> NewBatch:
    return NewBatch(id=new_id("bat"), task="support", concurrency=concurrency, **more)  # type: ignore[arg-type]


def items(count: int, first: int = 1) -> list[NewItem]:
    return [
        NewItem(key=f"k{no}", run=replace(new_run(message={"content": f"message {no}"}), id=""))
        for no in range(first, first + count)
    ]


def sealed(record: TenantRole, count: int, concurrency: int = 100, **more: object) -> BatchRecord:
    batch, _ = record.batches.open_batch(a_batch(concurrency, **more))
    record.batches.add_items(batch.id, 1, items(count))
    return record.batches.seal_batch(batch.id)


def end(
    store: Store, run: RunRecord, status: str = "completed", code: str = "DONE", usage: Usage | None = None
) -> None:
    with store.coordinator.locked(run.id) as transaction:
        if usage is not None:
            transaction.add_usage(usage)
        transaction.finish(RunStatus(status), code)


def used(record: TenantRole, batch_id: str) -> tuple[int, int, Decimal]:
    progress = record.batches.batch_progress(batch_id)
    return progress.calls, progress.prompt_tokens, progress.cost


def counts(record: TenantRole, batch_id: str) -> dict[str, int]:
    return {str(status): n for status, n in record.batches.batch_progress(batch_id).counts.items() if n}


def test_items_begin_in_order_as_far_as_the_concurrency_allows(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 5, concurrency=2)

    first = store.coordinator.feed_batch(batch.id).runs
    again = store.coordinator.feed_batch(batch.id).runs
    end(store, first[0])
    second = store.coordinator.feed_batch(batch.id).runs

    assert [run.message["content"] for run in [*first, *again, *second]] == ["message 1", "message 2", "message 3"]
    assert {run.batch_id for run in first} == {batch.id}
    assert counts(record, batch.id) == {"not_started": 2, "queued": 2, "completed": 1}
    assert {run.id for run in record.runs(RunFilter(batch=batch.id))[0]} == {run.id for run in [*first, *second]}
    assert second == [store.inspector.run(second[0].id)]


def test_a_batch_is_finished_when_it_is_sealed_and_all_its_runs_have_ended(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch, _ = record.batches.open_batch(a_batch())
    record.batches.add_items(batch.id, 1, items(1))
    end(store, store.coordinator.feed_batch(batch.id).runs[0])
    store.coordinator.feed_batch(batch.id)
    assert record.batches.batch(batch.id).status == BatchStatus.OPEN

    record.batches.seal_batch(batch.id)
    assert (batch.id, record.batches.batch(batch.id).tenant) in store.coordinator.due_batches()
    store.coordinator.feed_batch(batch.id)

    assert record.batches.batch(batch.id).status == BatchStatus.COMPLETED
    assert batch.id not in dict(store.coordinator.due_batches())
    with pytest.raises(ConflictError, match="closed to further items"):
        record.batches.add_items(batch.id, 2, items(1, 2))


def test_a_part_that_is_sent_again_is_there_once(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch, _ = record.batches.open_batch(a_batch())

    record.batches.add_items(batch.id, 1, items(3))
    assert record.batches.add_items(batch.id, 1, items(3)).total == 3
    assert record.batches.add_items(batch.id, 4, items(2, 4)).total == 5

    with pytest.raises(ConflictError, match="so item 6 comes next, not 7"):
        record.batches.add_items(batch.id, 7, items(1, 7))
    with pytest.raises(ConflictError, match=r"item 2 of the batch .* is another one"):
        record.batches.add_items(batch.id, 2, items(1, 9))
    with pytest.raises(ConflictError, match=r"item 1 of the batch .* has the id 'k1' already"):
        record.batches.add_items(batch.id, 6, items(1, 1))
    assert [(item.no, item.key, item.status) for item in record.batches.batch_items(batch.id, 3)] == [
        (4, "k4", ItemStatus.NOT_STARTED),
        (5, "k5", ItemStatus.NOT_STARTED),
    ]


def test_a_part_is_known_by_what_was_sent_whatever_a_gateway_adds_to_it(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch, _ = record.batches.open_batch(a_batch())

    def sent(digest: str | None, **more: Any) -> list[NewItem]:
        return [replace(item, run=replace(item.run, body_hash=digest, **more)) for item in items(1)]

    record.batches.add_items(batch.id, 1, sent("d1", version="1"))
    assert record.batches.add_items(batch.id, 1, sent("d1", version="2", max_turns=5)).total == 1
    with pytest.raises(ConflictError, match=r"item 1 of the batch .* is another one"):
        record.batches.add_items(batch.id, 1, sent("d2", version="1"))
    # An earlier version keeps and sends no digest.
    assert record.batches.add_items(batch.id, 1, sent(None, version="1")).total == 1
    with pytest.raises(ConflictError, match=r"item 1 of the batch .* is another one"):
        record.batches.add_items(batch.id, 1, sent(None, version="2"))


def test_a_batch_is_opened_once_for_a_key(store: Store) -> None:
    tenant = a_tenant()
    record = store.tenant(tenant)
    first, is_new = record.batches.open_batch(a_batch(key="file", max_cost=Decimal("1.5")))
    again, is_new_again = record.batches.open_batch(a_batch(key="file"))

    assert (is_new, is_new_again, again) == (True, False, first)
    assert (first.max_cost, first.max_tokens, first.budgeted) == (Decimal("1.5"), None, True)
    with pytest.raises(ConflictError, match="which is of the task 'support'"):
        record.batches.open_batch(replace(a_batch(key="file"), task="other"))
    assert store.tenant(a_tenant()).batches.open_batch(a_batch(key="file"))[1]
    once = Once(tenant=tenant, key="seal", digest="body")
    record.batches.add_items(first.id, 1, items(1))
    store.tenant(tenant, once=once).batches.seal_batch(first.id)
    with pytest.raises(RepeatedRequestError):
        store.tenant(tenant, once=once).batches.seal_batch(first.id)


def test_feeders_at_the_same_time_begin_each_item_once(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 40, concurrency=30)

    threads = [threading.Thread(target=store.coordinator.feed_batch, args=[batch.id]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts(record, batch.id) == {"not_started": 10, "queued": 30}
    assert len(record.runs(RunFilter(batch=batch.id), limit=100)[0]) == 30


def test_the_tenant_s_limit_of_runs_holds_for_batches(store: Store) -> None:
    record = store.tenant(a_tenant())
    record.submit(new_run())
    batch = sealed(record, 5)

    assert len(store.coordinator.feed_batch(batch.id, max_unfinished_runs=3).runs) == 2
    assert store.coordinator.feed_batch(batch.id, max_unfinished_runs=3).runs == []
    assert counts(record, batch.id) == {"not_started": 3, "queued": 2}


def test_a_batch_is_left_to_a_later_sweep_while_a_submission_of_its_tenant_takes_long(store: Store) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    tenant = a_tenant()
    record = store.tenant(tenant)
    batch = sealed(record, 2)

    with ThreadPoolExecutor(1) as pool, store.database.begin() as submission:
        lock_admission(store.database, submission, tenant)
        fed = pool.submit(store.coordinator.feed_batch, batch.id, max_unfinished_runs=3).result(timeout=10)

    assert (fed.runs, counts(record, batch.id)) == ([], {"not_started": 2})
    assert record.batches.batch(batch.id).finished_at is None
    assert len(store.coordinator.feed_batch(batch.id, max_unfinished_runs=3).runs) == 2


def test_a_retry_that_waits_for_a_submission_keeps_no_one_from_its_batch(store: Store) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    tenant = a_tenant()
    record = store.tenant(tenant, max_unfinished_runs=10)
    batch = sealed(record, 3, concurrency=2)
    failed, done = store.coordinator.feed_batch(batch.id).runs
    end(store, failed, "failed", "ERROR")
    end(store, done)

    with ThreadPoolExecutor(2) as pool:
        with store.database.begin() as submission:
            lock_admission(store.database, submission, tenant)
            retried = pool.submit(record.retry, failed.id)
            until_it_waits(store, retried.done)
            assert pool.submit(record.batches.cancel_batch, batch.id).result(timeout=10).cancelled_at is not None
        retried.result(timeout=30)

    assert counts(record, batch.id) == {"not_started": 1, "queued": 1, "completed": 1}


def test_nothing_begins_in_a_batch_whose_budget_is_used_up_until_it_is_raised(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 3, concurrency=1, max_tokens=100)
    [run] = store.coordinator.feed_batch(batch.id).runs
    assert run.batch_budget
    _spend(store, batch.id, 100)
    end(store, run)

    assert store.coordinator.feed_batch(batch.id).runs == []
    stopped = record.batches.batch(batch.id)
    assert (stopped.stopped_by, stopped.status) == ("tokens", BatchStatus.STOPPED)
    assert counts(record, batch.id) == {"not_started": 2, "completed": 1}

    assert record.batches.resume_batch(batch.id, max_tokens=500).max_tokens == 500
    assert len(store.coordinator.feed_batch(batch.id).runs) == 1


def test_a_limit_cannot_be_set_later_where_none_was(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 1)

    with pytest.raises(InvalidRequestError, match="opened without a budget"):
        record.batches.resume_batch(batch.id, max_tokens=5)


def test_an_item_that_is_begun_anew_gets_another_run_and_both_count(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 1)
    [run] = store.coordinator.feed_batch(batch.id).runs
    end(store, run, "completed", "MAX_COST")
    store.coordinator.feed_batch(batch.id)
    assert counts(record, batch.id) == {"limited": 1}

    assert record.batches.restart_items(batch.id, {1: run.id}) == [1]
    [other] = store.coordinator.feed_batch(batch.id).runs

    assert other.id != run.id
    assert (other.message, other.tags) == (run.message, run.tags)
    assert len(record.runs(RunFilter(batch=batch.id))[0]) == 2
    assert counts(record, batch.id) == {"queued": 1}


def test_an_item_begins_anew_only_instead_of_the_run_that_was_seen_and_once_that_has_ended(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 2)
    first, second = store.coordinator.feed_batch(batch.id).runs
    end(store, first, "completed", "MAX_COST")
    seen = {1: first.id, 2: second.id}

    assert record.batches.restart_items(batch.id, seen) == [1]
    assert record.batches.restart_items(batch.id, seen) == []  # it has not begun yet
    [other] = store.coordinator.feed_batch(batch.id).runs
    end(store, other, "completed", "MAX_COST")
    assert record.batches.restart_items(batch.id, seen) == []  # it has another run

    assert [item.begun for item in record.batches.batch_items(batch.id)] == [other.id, second.id]


def test_due_batches_are_looked_at_in_turn(store: Store) -> None:
    record = store.tenant(a_tenant())
    mine = {sealed(record, 1).id for _ in range(60)}
    found: list[str] = []

    while not mine <= set(found):
        page = [batch for batch, _ in store.coordinator.due_batches(after=found[-1] if found else "")]
        assert len(page) == len(set(page)) == 50
        assert not set(page) <= set(found)
        found += page


def test_progress_follows_runs_that_are_retried_replaced_and_charged_after_their_end(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 3)
    done, failed, limited = store.coordinator.feed_batch(batch.id).runs
    with store.coordinator.locked(done.id) as transaction:
        transaction.add_usage(USAGE)
    assert used(record, batch.id) == (1, 7, Decimal("0.25"))
    end(store, done, usage=USAGE)
    end(store, failed, "failed", "ERROR", usage=USAGE)
    end(store, limited, "completed", "MAX_TOKENS")
    assert counts(record, batch.id) == {"completed": 1, "failed": 1, "limited": 1}
    assert used(record, batch.id) == (3, 21, Decimal("0.75"))

    with store.coordinator.locked(failed.id) as transaction:
        transaction.change(status=RunStatus.RUNNING)
        transaction.amend(finished_at=None)
    with store.coordinator.locked(done.id) as transaction:
        transaction.add_usage(USAGE)
    assert counts(record, batch.id) == {"completed": 1, "running": 1, "limited": 1}
    assert used(record, batch.id) == (4, 28, Decimal("1.00"))

    record.batches.restart_items(batch.id, {3: limited.id})
    assert counts(record, batch.id) == {"not_started": 1, "completed": 1, "running": 1}
    with store.database.begin() as connection:  # the run that was replaced
        connection.exec_driver_sql(f"DELETE FROM runs WHERE id = '{limited.id}'")
    [other] = store.coordinator.feed_batch(batch.id).runs
    end(store, other)
    end(store, failed)
    assert counts(record, batch.id) == {"completed": 3}
    assert used(record, batch.id) == (4, 28, Decimal("1.00"))
    [listed] = record.batches.batches_progress()
    assert listed == record.batches.batch_progress(batch.id)


def test_a_batch_that_is_not_sealed_expires_and_ends_with_the_items_that_it_has(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch, _ = record.batches.open_batch(a_batch())
    kept, empty = record.batches.open_batch(a_batch())[0], record.batches.open_batch(a_batch())[0]
    for filled in (batch, kept):
        record.batches.add_items(filled.id, 1, items(1))
    _backdate(store, [batch.id, empty.id], 100.0)
    sealed_before = sealed(record, 1)
    _backdate(store, [sealed_before.id], 100.0)

    store.coordinator.due_batches(50.0)

    looked_at = [batch, kept, empty, sealed_before]
    expired = [one.id for one in looked_at if record.batches.batch(one.id).expired_at is not None]
    assert expired == [batch.id, empty.id]
    with pytest.raises(ConflictError, match="not sealed in time and has expired with 1 items"):
        record.batches.add_items(batch.id, 2, items(1, 2))
    assert record.batches.batch(batch.id).status == BatchStatus.RUNNING
    end(store, store.coordinator.feed_batch(batch.id).runs[0])
    for ended in (batch, empty):
        store.coordinator.feed_batch(ended.id)
        assert record.batches.batch(ended.id).status == BatchStatus.EXPIRED
    assert counts(record, batch.id) == {"completed": 1}
    assert record.batches.batch(kept.id).status == BatchStatus.OPEN


def test_a_cancelled_batch_begins_nothing_and_ends_with_its_runs(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 3, concurrency=1)
    [run] = store.coordinator.feed_batch(batch.id).runs

    record.batches.cancel_batch(batch.id)
    record.batches.cancel_batch(batch.id)
    assert record.batches.unfinished_of_batch(batch.id) == [run.id]
    end(store, run, "cancelled", "KILL")
    assert store.coordinator.feed_batch(batch.id).runs == []

    assert record.batches.batch(batch.id).status == BatchStatus.CANCELLED
    assert counts(record, batch.id) == {"not_started": 2, "cancelled": 1}
    with pytest.raises(ConflictError, match="was cancelled"):
        record.batches.resume_batch(batch.id)
    with pytest.raises(ConflictError, match="was cancelled"):
        record.batches.restart_items(batch.id, {1: run.id})


def test_runs_that_are_submitted_together_are_a_batch(store: Store) -> None:
    record = store.tenant(a_tenant())
    made = record.submit_all([new_run(), new_run()])
    batch_id = made[0].batch_id
    assert batch_id is not None

    assert [item.run and item.run.id for item in record.batches.batch_items(batch_id)] == [run.id for run in made]
    assert (record.batches.batch(batch_id).status, record.batches.batch(batch_id).total) == (BatchStatus.RUNNING, 2)
    for run in made:
        end(store, run)
    store.coordinator.feed_batch(batch_id)
    assert record.batches.batch(batch_id).status == BatchStatus.COMPLETED


def test_batches_are_listed_newest_first(store: Store) -> None:
    record = store.tenant(a_tenant())
    made = [record.batches.open_batch(a_batch())[0].id for _ in range(3)]

    assert [one.id for one in record.batches.batches(limit=2)] == [made[2], made[1]]
    assert [one.id for one in record.batches.batches(before=made[1])] == [made[0]]
    assert store.tenant(a_tenant()).batches.batches() == []


def test_an_old_batch_is_deleted_once_its_runs_are(store: Store) -> None:
    record = store.tenant(a_tenant())
    batch = sealed(record, 1, max_cost=Decimal(1))
    end(store, store.coordinator.feed_batch(batch.id).runs[0], usage=USAGE)
    store.coordinator.feed_batch(batch.id)

    store.coordinator.purge_batches(0)
    assert record.batches.batch(batch.id).status == BatchStatus.COMPLETED
    assert store.coordinator.purge_batches(3600) == 0

    with store.database.begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM runs WHERE batch_id = '{batch.id}'")
    assert counts(record, batch.id) == {"deleted": 1}
    assert used(record, batch.id) == (1, 7, Decimal("0.25"))
    store.coordinator.purge_batches(0)
    for table in (batch_sums, replaced_batch_runs):
        with store.database.read() as connection:
            assert connection.execute(sa.select(table).where(table.c.batch_id == batch.id)).all() == []
    with pytest.raises(NotFoundError, match="no batch"):
        record.batches.batch_items(batch.id)


def _backdate(store: Store, ids: list[str], seconds: float) -> None:
    earlier = {name: batches.c[name] - seconds for name in ("created_at", "filled_at")}
    with store.database.begin() as connection:
        connection.execute(sa.update(batches).where(batches.c.id.in_(ids)).values(earlier))


def _spend(store: Store, batch_id: str, tokens: int) -> None:
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE budgets SET spent_tokens = {tokens} WHERE scope_id = '{batch_id}'")
