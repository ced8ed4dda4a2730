"""Deleting old runs, on each database."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import interrupted
from tests.support.kept_values import happen
from tests.support.services import migrated_postgres
from tests.support.store_parts import asked_run, begun_run, new_ask, new_queue, new_run, new_worker, remembered

from turnwise.base.ids import new_id
from turnwise.errors import NotFoundError
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import Granted, ModelCall
from turnwise.record.budgets.budgets import ScopeLimits
from turnwise.record.database import budget_tables, schema
from turnwise.record.database.columns import Document, Money
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Claim, NewHistory, RunRecord, Usage

NOW = Retention(older_than=0)
# Tables without rows of one run. A new table belongs here, or its rows have a `run_id`.
NOT_OF_RUNS = {
    *("schema_support", "sessions", "workers", "sweep_leases", "budgets", "purged_usage"),
    *("provider_buckets", "tenant_shares", "api_keys", "tenants", "usage_days", "audit"),
    *("samples", "sampled_usage"),  # sums of tenants over time
    "provider_batches",  # of calls of many runs, deleted at their end
    *("schedules", "schedule_versions"),  # of tenants and of the application
    *("batches", "batch_items"),  # an item stays when its run is deleted, and goes with its batch
    *("batch_sums", "replaced_batch_runs"),  # the same
    *("pauses", "idempotency_keys"),  # a key names the run that a request was about, and expires by itself
}


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """A database in which other tests have no runs that could be deleted."""
    with migrated_postgres() as url:
        yield url


def _end(store: Store, run: RunRecord, status: str = "completed", code: str = "DONE") -> RunRecord:
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus(status), code)
        return transaction.run


def _ended(store: Store, status: str = "completed", code: str = "DONE", **run: Any) -> RunRecord:
    tenant = run.pop("tenant", DEFAULT_TENANT)
    return _end(store, store.tenant(tenant).submit(new_run(**run))[0], status, code)


def _purge_all(store: Store, retention: Retention = NOW) -> list[str]:
    """Delete what may be deleted; return the ids."""
    return [
        old.id for old in store.coordinator.old_runs(retention, 1000) if store.coordinator.purge_run(old.id, retention)
    ]


def _exists(store: Store, run: RunRecord) -> bool:
    try:
        store.inspector.run(run.id)
    except NotFoundError:
        return False
    return True


def _row(table: sa.Table, run_id: str) -> dict[str, Any]:
    """A row of the table in which everything that can hold the run's id does."""
    made: dict[str, Any] = {}
    for column in table.c:
        kind = column.type
        if isinstance(kind, Money):
            made[column.key] = Decimal(2)
        elif isinstance(kind, type(Document)):
            made[column.key] = {"of": run_id}
        else:
            made[column.key] = run_id if kind.python_type is str else kind.python_type(2)
    # The database, or a purge, allows nothing else there.
    allowed: dict[str, dict[str, Any]] = {
        "asks": {"status": AskStatus.ANSWERED},
        "webhook_deliveries": {"state": "parked"},
        "collected_asks": {"batch_id": None, "usage": None},
    }
    return made | allowed.get(table.name, {})


def _tables_that_name(store: Store, run_id: str) -> set[str]:
    found = store.inspector.everything()
    return {name for name, rows in found.items() if run_id in json.dumps(rows, default=str)}


def test_nothing_of_a_deleted_run_is_left_in_any_table(store: Store) -> None:
    # given two runs with a row in every table that has rows of runs
    of_runs = {table.name for table in schema.metadata.sorted_tables} - NOT_OF_RUNS
    runs = [_ended(store) for _ in range(2)]
    for run in runs:
        with store.database.begin() as connection:
            for table in schema.metadata.sorted_tables:
                if table.name in of_runs - {"runs"}:
                    connection.execute(sa.insert(table).values(_row(table, run.id)))
        assert _tables_that_name(store, run.id) == of_runs

    # when
    assert store.coordinator.purge_run(runs[0].id, NOW)

    # then
    assert _tables_that_name(store, runs[0].id) == set()
    assert _tables_that_name(store, runs[1].id) == of_runs
    assert not store.coordinator.purge_run(runs[0].id, NOW)  # it is gone


def test_what_was_cut_off_the_histories_of_a_run_goes_with_it(store: Store) -> None:
    run = asked_run(store, new_queue())
    for _ in range(3):
        with store.coordinator.locked(run.id) as transaction:
            transaction.append_history("triage", [NewHistory(role="user", body={"t": "hello"}) for _ in range(4)])
            transaction.mark()
        with store.coordinator.locked(run.id) as transaction:
            transaction.cut_history("triage", 1)
            happen(transaction, "turn.none")
            transaction.mark()
    _end(store, run)
    assert any("#" in row["run_id"] for row in store.inspector.table("histories") if run.id in row["run_id"])

    assert store.coordinator.purge_run(run.id, NOW)

    assert _tables_that_name(store, run.id) == set()


def test_only_runs_of_that_age_and_status_are_old(store: Store) -> None:
    ended = {status: _ended(store, status) for status in ("completed", "failed", "cancelled")}
    running, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    waiting = asked_run(store, None)

    def old(retention: Retention) -> set[str]:
        return {each.id for each in store.coordinator.old_runs(retention, 1000)}

    mine = {run.id for run in (*ended.values(), running, waiting)}
    assert mine & old(NOW) == {run.id for run in ended.values()}
    some = Retention(older_than=0, statuses=("completed", "failed"))
    assert mine & old(some) == {ended["completed"].id, ended["failed"].id}
    assert old(Retention(older_than=3600)) == set()
    # Nor are they deleted by those who ask for them by name.
    assert not store.coordinator.purge_run(running.id, NOW)
    assert not store.coordinator.purge_run(waiting.id, NOW)
    assert not store.coordinator.purge_run(ended["cancelled"].id, some)
    assert not store.coordinator.purge_run(ended["completed"].id, Retention(older_than=3600))
    assert _exists(store, ended["completed"])


def test_old_runs_are_given_in_the_order_of_their_ends_a_few_at_a_time(store: Store) -> None:
    _purge_all(store)
    runs = [_ended(store) for _ in range(5)]
    first = store.coordinator.old_runs(NOW, 2)
    second = store.coordinator.old_runs(NOW, 2, after=first[-1])
    third = store.coordinator.old_runs(NOW, 2, after=second[-1])
    assert [old.id for old in (*first, *second, *third)] == [run.id for run in runs]
    assert store.coordinator.count_old_runs(NOW) == ({"completed": 5}, 0)


def test_a_run_that_somebody_works_on_is_left_for_later(store: Store) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    run = _ended(store)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store.coordinator.locked(run.id):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(10)
        assert not store.coordinator.purge_run(run.id, NOW)
    finally:
        done.set()
        thread.join()
    assert store.coordinator.purge_run(run.id, NOW)


def _calling(store: Store, limits: ScopeLimits, **run: Any) -> Claim:
    """A claim that has reserved a call of 100 tokens under `limits`."""
    queue = new_queue()
    asked_run(store, queue, run=run)
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    call = ModelCall(
        model="m",
        prompt=lambda: 60,
        most=40,
        price=lambda prompt, output: Amount(prompt_tokens=prompt, output_tokens=output, cost=Decimal("0.01")),
    )
    assert isinstance(store.worker.reserve(claim, 1, call, limits), Granted)
    return claim


def test_a_run_whose_call_is_not_settled_is_kept(store: Store) -> None:
    claim = _calling(store, ScopeLimits(tenant_day=(Decimal(100), None)), tenant=new_id("tenant"))
    run = _end(store, store.inspector.run(claim.run.id), "cancelled", "KILL")
    assert not store.coordinator.purge_run(run.id, NOW)
    assert store.coordinator.count_old_runs(NOW)[1] >= 1

    store.process.retire_worker(claim.worker_id)
    store.coordinator.settle_orphans()

    assert store.coordinator.purge_run(run.id, NOW)


def test_a_reply_to_a_deleted_run_finds_none(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    _end(store, run, "cancelled", "KILL")
    assert store.coordinator.purge_run(run.id, NOW)

    with pytest.raises(NotFoundError):
        store.worker.reply(claim, Reply(kind="nothing"))


def _used(store: Store, run: RunRecord, cost: str) -> None:
    usage = Usage(prompt_tokens=10, cached_tokens=3, completion_tokens=5, calls=2, cost=Decimal(cost))
    with store.coordinator.locked(run.id) as transaction:
        transaction.add_usage(usage)


@pytest.mark.parametrize("scope", ["session", "tenant_day", "tenant_month"])
def test_a_budget_that_begins_after_runs_were_deleted_counts_what_they_have_used(store: Store, scope: str) -> None:
    # given a tenant whose runs have used 0.75, without a limit that would have counted it
    tenant, session = new_id("tenant"), new_id("session")
    for cost in ("0.5", "0.25"):
        run = begun_run(store, session, tenant=tenant)
        _used(store, run, cost)
        _end(store, run)
        assert store.coordinator.purge_run(run.id, NOW)

    # when a limit comes into force
    limits = ScopeLimits(**{scope: (Decimal(100), None)})
    _calling(store, limits, tenant=tenant, session_id=session)

    # then
    budget = next(
        row
        for row in store.inspector.table("budgets")
        if row["scope"] == scope and (row["scope_id"].startswith(tenant) or row["scope_id"] == run.session_key)
    )
    assert (budget["spent_cost"], budget["spent_tokens"]) == (Decimal("0.75"), 30)


def test_a_run_of_an_earlier_month_leaves_no_sum_to_its_tenant(store: Store) -> None:
    tenant = new_id("tenant")
    run = _ended(store, tenant=tenant)
    with store.database.begin() as connection:
        long_ago = sa.update(schema.runs).where(schema.runs.c.id == run.id).values(created_at=1.0)
        connection.execute(long_ago)
    assert store.coordinator.purge_run(run.id, NOW)
    assert [row for row in store.inspector.table("purged_usage") if row["scope_id"].startswith(tenant)] == []


def test_a_session_goes_on_as_if_its_old_runs_were_still_there(store: Store) -> None:
    # given a session whose first runs are long over
    session = new_id("session")
    for n in range(3):
        run = begun_run(store, session)
        with store.coordinator.locked(run.id) as transaction:
            transaction.put_document(f"doc-{n}", {"content": f"said {n}"})
            transaction.put_document("shared", {"content": f"version {n}"})
            transaction.append_history("triage", [NewHistory(role="user", body={"n": n}, document_id=f"doc-{n}")])
        _used(store, run, "0.1")
        _end(store, run)
        if n < 2:
            before = store.tenant(DEFAULT_TENANT).session(session)
            assert store.coordinator.purge_run(run.id, NOW)
            assert store.tenant(DEFAULT_TENANT).session(session) == before

    # when
    last = begun_run(store, session)

    # then
    assert remembered(store, last) == [{"n": 0}, {"n": 1}, {"n": 2}]
    with store.coordinator.locked(last.id) as transaction:
        wanted = ["doc-0", "doc-1", "doc-2", "shared"]
        found = [body["content"] for body in transaction.documents(wanted).values()]
        assert found == ["said 0", "said 1", "said 2", "version 2"]
    assert store.worker.earlier_document(last, "doc-0") == {"content": "said 0"}


@pytest.mark.parametrize("at", [1, 2])
def test_a_document_of_a_run_that_is_deleted_meanwhile_is_found(store: Store, at: int) -> None:
    session = new_id("session")
    first = begun_run(store, session)
    with store.coordinator.locked(first.id) as transaction:
        transaction.put_document("doc", {"content": "said"})
    _end(store, first)
    later = begun_run(store, session)

    with interrupted(store, at, lambda: store.coordinator.purge_run(first.id, NOW)) as other:
        found = other.worker.earlier_document(later, "doc")

    assert found == {"content": "said"}
    assert not _exists(store, first)


@pytest.mark.parametrize("at", range(1, 6))
def test_a_session_counts_a_run_that_is_deleted_meanwhile_once(store: Store, at: int) -> None:
    session = new_id("session")
    run = begun_run(store, session)
    _used(store, run, "0.1")
    _end(store, run)
    before = store.tenant(DEFAULT_TENANT).session(session)

    with interrupted(store, at, lambda: store.coordinator.purge_run(run.id, NOW)) as other:
        assert other.tenant(DEFAULT_TENANT).session(session) == before


@contextmanager
def _held(store: Store, run: RunRecord) -> Iterator[None]:
    """Keep a run from being deleted by a call that is not settled."""
    open_call = _row(budget_tables.reservations, run.id) | {"settled_at": None}
    with store.database.begin() as connection:
        connection.execute(sa.insert(budget_tables.reservations).values(open_call))
    yield
    with store.database.begin() as connection:
        settled = sa.update(budget_tables.reservations).where(budget_tables.reservations.c.run_id == run.id)
        connection.execute(settled.values(settled_at=2.0))


def test_the_last_version_of_a_document_stays_though_an_earlier_run_is_held_meanwhile(store: Store) -> None:
    # given two runs, and the later one's version of a document
    session = new_id("session")
    runs = []
    for n in range(2):
        run = begun_run(store, session)
        with store.coordinator.locked(run.id) as transaction:
            transaction.put_document("shared", {"content": f"version {n}"})
        runs.append(_end(store, run))
    last = begun_run(store, session)

    # when the earlier one cannot be deleted at first
    ids = [run.id for run in runs]
    with _held(store, runs[0]):
        assert not set(ids) & set(_purge_all(store))

    # then
    assert store.worker.earlier_document(last, "shared") == {"content": "version 1"}
    assert [id for id in _purge_all(store) if id in ids] == ids
    assert store.worker.earlier_document(last, "shared") == {"content": "version 1"}


def test_a_session_that_ends_takes_along_what_deleted_runs_have_left_to_it(store: Store) -> None:
    session = new_id("session")
    run = begun_run(store, session)
    with store.coordinator.locked(run.id) as transaction:
        transaction.put_document("doc", {"content": "private"})
        transaction.append_history("triage", [NewHistory(role="user", body={"content": "private"})])
    _end(store, run)
    assert store.coordinator.purge_run(run.id, NOW)

    store.tenant(DEFAULT_TENANT).delete_session(session)

    assert _tables_that_name(store, str(run.session_key)) == set()


def test_runs_of_a_session_that_is_gone_leave_nothing(store: Store) -> None:
    session = new_id("session")
    run = begun_run(store, session)
    with store.coordinator.locked(run.id) as transaction:
        transaction.put_document("doc", {"content": "private"})
    _end(store, run)
    store.tenant(DEFAULT_TENANT).delete_session(session)

    assert store.coordinator.purge_run(run.id, NOW)

    assert _tables_that_name(store, str(run.session_key)) == set()


def test_a_later_run_stays_while_an_earlier_one_of_its_session_may_be_retried(store: Store) -> None:
    _purge_all(store)
    session = new_id("session")
    failed = _end(store, begun_run(store, session), "failed", "ERROR")
    later = _end(store, begun_run(store, session))
    completed = Retention(older_than=0, statuses=("completed",))
    assert later.id not in _purge_all(store, completed)
    assert store.coordinator.count_old_runs(completed)[1] == 1
    assert store.coordinator.count_old_runs(NOW) == ({"failed": 1, "completed": 1}, 0)

    assert [run for run in _purge_all(store) if run in (failed.id, later.id)] == [failed.id, later.id]


def test_budgets_of_days_and_months_long_over_are_deleted(store: Store) -> None:
    tenant = new_id("tenant")
    old = {"tenant_day": f"{tenant}/2020-01-31", "tenant_month": f"{tenant}/2020-01"}
    limits = ScopeLimits(tenant_day=(Decimal(9), None), tenant_month=(Decimal(9), None), session=(Decimal(9), None))
    _calling(store, limits, tenant=tenant, session_id=new_id("session"))
    with store.database.begin() as connection:
        for scope, scope_id in old.items():
            for table in (budget_tables.budgets, budget_tables.purged_usage):
                place = {"scope": scope, "scope_id": scope_id}
                connection.execute(sa.insert(table).values(_row(table, tenant) | place))
    present = [row for row in store.inspector.table("budgets") if row["scope_id"] not in old.values()]

    assert store.coordinator.forget_old_budgets() == 4

    assert store.inspector.table("budgets") == present
    assert store.coordinator.forget_old_budgets() == 0


def test_a_question_of_an_ended_run_leaves_the_inbox(store: Store) -> None:
    run = asked_run(store, None)
    with store.coordinator.locked(run.id) as transaction:
        transaction.add_ask(new_ask(None, turn=2))
    _end(store, run, "cancelled", "KILL")
    assert store.coordinator.purge_run(run.id, NOW)
    assert [ask for ask in store.inspector.table("asks") if ask["run_id"] == run.id] == []
