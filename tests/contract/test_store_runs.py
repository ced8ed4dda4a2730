"""Accepting, changing and ending runs, on each database."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import interrupted
from tests.support.kept_values import happen
from tests.support.store_parts import asked_run, new_ask, new_queue, new_run

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.fork_origin import ForkOrigin
from turnwise.record.values.kept_errors import kept_error
from turnwise.record.values.records import NewDocument, NewHistory, RunFilter


def test_an_accepted_run_is_queued_with_its_first_event(store: Store) -> None:
    run, created = store.tenant(DEFAULT_TENANT).submit(new_run(tags=("a",), deadline=60.0))

    assert created
    assert store.inspector.run(run.id) == run
    assert (run.status, run.last_seq) == ("queued", 1)
    assert run.deadline_at is not None
    assert 59 < run.deadline_at - run.created_at < 61
    assert [event.type for event in store.inspector.events(run.id)] == ["run.accepted"]


def test_the_run_that_a_submission_gives_is_the_one_in_the_database(store: Store) -> None:
    given: dict[str, Any] = {
        "metadata": {"order": 17},
        "tags": ("vip", "de"),
        "session_id": "customer",
        "max_cost": Decimal("0.50"),
        "max_tokens": 900,
        "turns": 3,
        "max_turns": 40,
        "deadline": 60.0,
        "on_limit": "wait",
        "idempotency_key": "key",
        "body_hash": "hash",
        "forked_from": ForkOrigin(run="run_other", at=2),
        "model": "small",
        "priority": 7,
        "traceparent": "00-1-2-01",
    }

    plain, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    full, _ = store.tenant(DEFAULT_TENANT).submit(new_run(**given))

    assert plain == store.inspector.run(plain.id)
    assert full == store.inspector.run(full.id)
    assert full.deadline_at is not None
    assert 59 < full.deadline_at - full.created_at < 61


def test_the_same_key_and_body_give_the_same_run(store: Store) -> None:
    tenant = new_id("tenant")
    first, _ = store.tenant(tenant).submit(new_run(idempotency_key="k", body_hash="h"))

    again, created = store.tenant(tenant).submit(new_run(idempotency_key="k", body_hash="h"))
    with pytest.raises(ConflictError) as caught:
        store.tenant(tenant).submit(new_run(idempotency_key="k", body_hash="other"))
    other, other_created = store.tenant(new_id("tenant")).submit(new_run(idempotency_key="k", body_hash="other"))

    assert (again.id, created) == (first.id, False)
    assert caught.value.code == "idempotency_mismatch"
    assert other_created
    assert other.id != first.id


@pytest.mark.parametrize("at", [1, 2])
def test_a_key_is_free_once_the_old_run_that_had_it_is_deleted(store: Store, at: int) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    tenant = new_id("tenant")
    old, _ = store.tenant(tenant).submit(new_run(idempotency_key="k", body_hash="h"))
    with store.coordinator.locked(old.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    new = new_run(idempotency_key="k", body_hash="h")

    with interrupted(store, at, lambda: store.coordinator.purge_run(old.id, Retention(older_than=0))) as other:
        found, created = other.tenant(tenant).submit(new)

    # then it is the old one, as long as that was there, or a new one
    assert found.id == (new.id if created else old.id)


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    run = asked_run(store, new_queue())

    with pytest.raises(ZeroDivisionError), store.coordinator.locked(run.id) as transaction:
        transaction.push_frame("triage/billing", {})
        transaction.put_document("lost", {})
        happen(transaction, "task.started")
        transaction.append_history("triage", [NewHistory(role="user", body={}, tokens=1)])
        transaction.flush()
        raise ZeroDivisionError

    assert store.inspector.run(run.id) == run
    assert [frame.no for frame in store.inspector.frames_of(run.id)] == [1]
    assert [event.seq for event in store.inspector.events(run.id)] == [1, 2]
    assert store.inspector.history(run.id, "triage") == []


def test_events_are_numbered_without_gaps_by_concurrent_writers(store: Store) -> None:
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())

    def write() -> None:
        for _ in range(10):
            with store.coordinator.locked(run.id) as transaction:
                happen(transaction, "task.started")

    threads = [threading.Thread(target=write) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [event.seq for event in store.inspector.events(run.id)] == list(range(1, 52))


def test_frames_are_numbered_once_and_loop_counts_go_with_them(store: Store) -> None:
    run = asked_run(store, new_queue())

    with store.coordinator.locked(run.id) as transaction:
        second = transaction.push_frame("triage/billing", {"step": 1})
        transaction.count(second, "a", 0)
    with store.coordinator.locked(run.id) as transaction:
        transaction.save_frame(1, {"step": 5})
        assert transaction.count(second, "b", 3) in ([("a", 1), ("b", 1)], [("b", 1), ("a", 1)])
        assert transaction.count(second, "b", 1) == [("b", 2)]
    with store.coordinator.locked(run.id) as transaction:
        transaction.pop_frame(second)
        third = transaction.push_frame("triage/billing", {})
        assert transaction.count(third, "a", 3) == [("a", 1)]

    assert [(frame.no, frame.state) for frame in store.inspector.frames_of(run.id)] == [(1, {"step": 5}), (3, {})]


def test_a_history_is_read_back_as_it_was_left(store: Store) -> None:
    run = asked_run(store, new_queue())
    rows = [NewHistory(role="user", body={"n": n}, tokens=10) for n in range(6)]

    with store.coordinator.locked(run.id) as transaction:
        transaction.append_history("a", rows)
    with store.coordinator.locked(run.id) as transaction:
        transaction.cut_history("a", 4)
        transaction.append_history("a", rows[:1])
        agent = transaction.agent("a")

    assert (agent.history_len, agent.history_epoch, agent.history_tokens) == (5, 1, 50)
    assert [row.body["n"] for row in store.inspector.history(run.id, "a")] == [0, 1, 2, 3, 0]
    assert [row.idx for row in store.inspector.history(run.id, "a", after_idx=2)] == [3, 4]


def test_the_same_place_can_not_be_asked_twice(store: Store) -> None:
    run = asked_run(store, new_queue())

    with pytest.raises(Exception, match=r"(?i)unique"), store.coordinator.locked(run.id) as transaction:
        transaction.add_ask(new_ask("llm"))

    assert store.inspector.run(run.id) == run


def test_an_ended_run_can_not_be_cancelled(store: Store) -> None:
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    store.tenant(DEFAULT_TENANT).request_cancel(run.id)
    first = store.tenant(DEFAULT_TENANT).request_cancel(run.id)

    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    with pytest.raises(ConflictError) as caught:
        store.tenant(DEFAULT_TENANT).request_cancel(run.id)

    assert first.cancel_requested_at is not None
    assert caught.value.code == "already_ended"
    assert store.inspector.run(run.id).finished_at is not None
    with pytest.raises(NotFoundError):
        store.tenant(DEFAULT_TENANT).request_cancel("run_unknown")


def test_a_question_is_answered_once(store: Store) -> None:
    run = asked_run(store, None)
    assert run.awaiting in [ask.id for ask in store.tenant(DEFAULT_TENANT).open_questions(limit=1000)]

    store.tenant(DEFAULT_TENANT).answer(run.id, NewDocument(id="doc-2", body={"content": "yes"}))
    with pytest.raises(ConflictError) as unnamed:
        store.tenant(DEFAULT_TENANT).answer(run.id, NewDocument(id="doc-3", body={}))
    with pytest.raises(ConflictError) as named:
        store.tenant(DEFAULT_TENANT).answer(run.id, NewDocument(id="doc-3", body={}), run.awaiting)

    assert (unnamed.value.code, named.value.code) == ("already_answered", "already_answered")
    assert store.inspector.events(run.id)[-1].document == {"content": "yes"}
    with store.coordinator.locked(run.id) as transaction:
        reply = transaction.reply()
    assert reply is not None
    assert reply.document_id == "doc-2"


def test_runs_are_listed_by_page_and_filter(store: Store) -> None:
    tenant = new_id("tenant")
    made = [store.tenant(tenant).submit(new_run(tags=("odd",) if n % 2 else ()))[0].id for n in range(5)]

    first, cursor = store.inspector.runs(RunFilter(tenant=tenant), limit=3)
    second, end = store.inspector.runs(RunFilter(tenant=tenant), cursor, limit=3)
    odd, _ = store.inspector.runs(RunFilter(tenant=tenant, tag="odd"))

    assert [run.id for run in first + second] == made[::-1]
    assert end is None
    assert [run.id for run in odd] == [made[3], made[1]]
    with pytest.raises(InvalidRequestError):
        store.inspector.runs(cursor="é")


@pytest.mark.parametrize("name", ["unavailable", "model_unavailable", "ModelUnavailableError"])
def test_failed_runs_are_found_by_what_their_error_is_called(store: Store, name: str) -> None:
    tenant = new_id("tnt")
    error = {"type": "ModelUnavailableError", "code": "model_unavailable", "kind": "unavailable", "message": "away"}
    found = []
    for with_error in (error, {"type": "Broken", "message": "unavailable"}, None):
        run, _ = store.tenant(tenant).submit(new_run())
        with store.coordinator.locked(run.id) as transaction:
            transaction.finish(RunStatus.FAILED, "ERROR", error=kept_error(with_error))
        found.append(run.id)
    ended = store.inspector.run(found[0]).finished_at
    assert ended is not None

    assert [run.id for run in store.inspector.runs(RunFilter(tenant=tenant, errors=("timeout", name)))[0]] == found[:1]
    assert store.inspector.runs(RunFilter(tenant=tenant, errors=(name,), finished_after=ended))[0] == []
    assert store.inspector.runs(RunFilter(tenant=tenant, errors=(name,), finished_after=ended - 1))[0] != []


def test_tables_whose_rows_each_turn_replaces_leave_room_in_their_pages(store: Store) -> None:
    if store.database.is_postgres:  # SQLite replaces rows where they are
        query = "SELECT relname, reloptions[1] FROM pg_class WHERE relname IN ('frames', 'agent_states', 'runs')"
        with store.database.read() as connection:
            found = {row[0]: row[1] for row in connection.execute(sa.text(query))}
        assert found == {"frames": "fillfactor=50", "agent_states": "fillfactor=50", "runs": "fillfactor=75"}
