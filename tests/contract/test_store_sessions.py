"""Runs that share a conversation, on each database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from tests.support.store_parts import asked_run, begun_run, new_queue, new_run, new_worker, remembered

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewHistory, RunFilter, RunRecord, Usage


def _accepted(store: Store, session: str, **changes: object) -> RunRecord:
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run(session_id=session, **changes))
    return run


def _say(store: Store, run: RunRecord, *texts: str) -> None:
    """Append to what the run's agent remembers."""
    with store.coordinator.locked(run.id) as transaction:
        transaction.append_history("triage", [NewHistory(role="user", body={"t": text}, tokens=3) for text in texts])
        transaction.save_agent("triage", record={"tools": []}, state={"said": len(texts)})


def _end(store: Store, run: RunRecord) -> str | None:
    """End the run; the run whose turn it is then."""
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
        after = transaction.run_after()
    return None if after is None else after.id


def _before(store: Store, run: RunRecord) -> str | None:
    with store.coordinator.locked(run.id) as transaction:
        return transaction.run_before()


def _said(store: Store, run: RunRecord) -> list[str]:
    return [body["t"] for body in remembered(store, run)]


def test_a_run_finds_its_agents_as_the_run_before_left_them(store: Store) -> None:
    session = new_id("session")
    first = begun_run(store, session)
    _say(store, first, "hello", "hi")
    _end(store, first)

    second = begun_run(store, session)
    with store.coordinator.locked(second.id) as transaction:
        agent = transaction.agent("triage")
    _say(store, second, "again")

    assert (agent.history_len, agent.history_tokens, agent.record, agent.state) == (2, 6, {"tools": []}, {"said": 2})
    assert _said(store, second) == ["hello", "hi", "again"]


def test_whoever_ends_a_run_learns_the_version_of_the_next_one(store: Store) -> None:
    session = new_id("session")
    first, second = _accepted(store, session, version="1"), _accepted(store, session, version="2")

    with store.coordinator.locked(first.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
        after = transaction.run_after()

    assert after == (second.id, "2")


def test_the_claim_of_an_ask_comes_with_what_its_agent_remembers_of_the_session(store: Store) -> None:
    session, queue = new_id("session"), new_queue()
    first = begun_run(store, session)
    _say(store, first, "hello")
    _end(store, first)
    run = asked_run(store, queue, run={"session_id": session})

    claim = store.worker.claim(queue, new_worker(store, queue))

    assert claim is not None
    assert claim.ask.run_id == run.id
    assert (claim.agent.history_len, claim.agent.state) == (1, {"said": 1})
    with store.coordinator.locked(run.id) as transaction:
        transaction.open_ask()  # reads the agent along with the ask
        assert transaction.agent("triage").history_len == 1


def test_other_sessions_tasks_tenants_and_runs_without_a_session_remember_nothing_of_it(store: Store) -> None:
    session = new_id("session")
    first = begun_run(store, session)
    _say(store, first, "secret")
    _end(store, first)

    strangers = [
        begun_run(store, new_id("session")),
        begun_run(store, session, task="billing"),
        begun_run(store, session, tenant=new_id("tenant")),
        _accepted(store, session),  # and one that does not ask for it
        store.tenant(DEFAULT_TENANT).submit(new_run())[0],
    ]

    for run in strangers:
        with store.coordinator.locked(run.id) as transaction:
            assert transaction.agent("triage").history_len == 0


def test_runs_of_a_session_take_turns_in_the_order_of_acceptance(store: Store) -> None:
    session = new_id("session")
    first, second, third = (_accepted(store, session) for _ in range(3))
    elsewhere = _accepted(store, new_id("session"))

    assert [_before(store, run) for run in (first, second, third, elsewhere)] == [None, first.id, second.id, None]
    assert _end(store, second) == third.id
    assert _before(store, third) == first.id
    assert _end(store, first) == third.id
    assert _before(store, third) is None
    assert _end(store, third) is None


def test_a_run_whose_turn_nobody_told_it_of_is_found_by_a_sweep(store: Store) -> None:
    session = new_id("session")
    first, second = _accepted(store, session), _accepted(store, session)
    for run in (first, second):
        with store.coordinator.locked(run.id) as transaction:
            transaction.change(move_due_at=None)
    with store.coordinator.locked(first.id) as transaction:
        transaction.change(status=RunStatus.WAITING)

    assert second.id not in store.coordinator.due_moves(limit=1000)
    _end(store, first)
    assert second.id in store.coordinator.due_moves(limit=1000)


def test_places_in_a_session_are_given_once_by_concurrent_submissions(store: Store) -> None:
    session = new_id("session")
    made: list[RunRecord] = []

    def submit() -> None:
        for _ in range(5):
            made.append(_accepted(store, session))

    threads = [threading.Thread(target=submit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(run.session_no or 0 for run in made) == list(range(1, 31))


def test_an_end_and_a_submission_at_the_same_time_do_not_miss_each_other(store: Store) -> None:
    session = new_id("session")
    last = _accepted(store, session)
    for _ in range(20):
        with ThreadPoolExecutor(1) as other:
            ending = other.submit(_end, store, last)
            following = _accepted(store, session)
            before = _before(store, following)
        # Either the one that ended saw the new run, or the new run sees that it is its turn.
        assert ending.result() == following.id or before is None
        last = following


def test_a_repeated_submission_gives_the_same_run_and_begins_no_session(store: Store) -> None:
    session, tenant = new_id("session"), new_id("tenant")
    given = {"idempotency_key": "k", "body_hash": "h"}
    first, _ = store.tenant(tenant).submit(new_run(session_id=session, **given))
    _end(store, first)
    store.tenant(tenant).delete_session(session)

    again, created = store.tenant(tenant).submit(new_run(session_id=session, **given))
    with pytest.raises(ConflictError, match="another request body"):
        store.tenant(tenant).submit(new_run(session_id=session, **given | {"body_hash": "other"}))

    assert (again.id, created) == (first.id, False)
    with pytest.raises(NotFoundError):
        store.tenant(tenant).session(session)


def test_documents_of_earlier_runs_of_the_conversation_are_found_by_id(store: Store) -> None:
    session = new_id("session")
    document = new_id("doc")
    for content, status in (("said before", "completed"), ("said in vain", "failed")):
        with store.coordinator.locked(begun_run(store, session).id) as transaction:
            transaction.put_document(document, {"content": content})
            transaction.finish(RunStatus(status), None)
    second, other = begun_run(store, session), begun_run(store, session, task="billing")

    assert store.inspector.document(second.id, document) is None
    assert store.worker.earlier_document(second, document) == {"content": "said before"}
    assert store.worker.earlier_document(other, document) is None
    with store.coordinator.locked(second.id) as transaction:
        assert transaction.documents([document, "none"]) == {document: {"content": "said before"}}
    with store.coordinator.locked(other.id) as transaction:
        assert transaction.documents([document]) == {}


def test_a_session_tells_its_tasks_agents_and_what_it_used(store: Store) -> None:
    session = new_id("session")
    first = begun_run(store, session)
    _say(store, first, "hello", "hi")
    with store.coordinator.locked(first.id) as transaction:
        transaction.add_usage(Usage(prompt_tokens=5, completion_tokens=2, cost=Decimal("0.10")))
    _end(store, first)
    _accepted(store, session, task="billing")
    with store.coordinator.locked(_accepted(store, session).id) as transaction:
        transaction.add_usage(Usage(prompt_tokens=1, cost=Decimal("0.20")))
        transaction.add_usage(Usage(prompt_tokens=1))

    found = store.tenant(DEFAULT_TENANT).session(session)

    assert (found.id, found.runs, found.unfinished) == (session, 3, 2)
    assert (found.usage.prompt_tokens, found.usage.calls, found.usage.cost) == (7, 3, Decimal("0.30"))
    assert found.unpriced_calls == 1
    assert found.used_at >= found.created_at
    assert [(task.task, task.runs) for task in found.tasks] == [("billing", 1), ("triage", 2)]
    assert [(agent.key, agent.history_len, agent.state) for agent in found.tasks[1].agents] == [
        ("triage", 2, {"said": 2})
    ]


def test_a_deleted_session_is_forgotten_and_its_runs_stay(store: Store) -> None:
    session = new_id("session")
    first = begun_run(store, session)
    _say(store, first, "hello")
    with pytest.raises(ConflictError) as caught:
        store.tenant(DEFAULT_TENANT).delete_session(session)
    _end(store, first)

    store.tenant(DEFAULT_TENANT).delete_session(session)

    assert caught.value.code == "session_in_use"
    assert store.inspector.history(first.conversation_id or "", "triage") == []
    assert store.inspector.run(first.id).status == "completed"
    for gone in (store.tenant(DEFAULT_TENANT).session, store.tenant(DEFAULT_TENANT).delete_session):
        with pytest.raises(NotFoundError, match=session):
            gone(session)
    again = begun_run(store, session)
    assert again.conversation_id != first.conversation_id  # what a worker has read of the old one is of no use for it
    assert store.tenant(DEFAULT_TENANT).session(session).runs == 1
    assert [run.id for run in store.inspector.runs(RunFilter(session_id=session))[0]] == [again.id, first.id]
