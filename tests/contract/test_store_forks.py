"""Forks and exports on each database: what was, is there again, whatever came after."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import interrupted, until_it_waits
from tests.support.kept_values import happen
from tests.support.past_parts import TASK, Stage, told
from tests.support.store_parts import begun_run
from tests.support.webhook_parts import new_webhook

from turnwise import ChatAgent, ChatAgentConfig, LLMResponse, MockLMConfig, Task
from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidRequestError
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks, events, replies, runs
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import NewDocument, NewFork, NewHistory, NewRun, RunFilter, RunRecord
from turnwise.serving.replay import replay

# Answers of the helper, each another.
_WORDS = ("one", "DONE two")


def a_team(*, restart: bool = True) -> Task:
    """A boss who asks his helper again and again, and forgets what lay between."""
    said = iter(_WORDS * 9)
    boss = ChatAgent(ChatAgentConfig(name="boss", llm=MockLMConfig(response_fn=lambda _: next(said))))
    helper = ChatAgent(
        ChatAgentConfig(name="helper", llm=MockLMConfig(response_fn=lambda text: LLMResponse(message=f"DONE {text}!")))
    )
    task = Task(boss, name="boss", interactive=False, erase_substeps=True, restart=restart)
    task.add_sub_task(Task(helper, name="helper", interactive=False))
    return task


@pytest.mark.parametrize("with_reply", [False, True])
def test_a_fork_at_each_event_has_the_past_of_the_run_and_ends_as_it_did(store: Store, with_reply: bool) -> None:
    # given
    stage = Stage(store, a_team, with_reply=with_reply)
    run = stage.play("go")
    whole = told(store, run)
    export = store.inspector.export(run.id)
    assert any(row["aside"] for row in export["histories"])  # the helper begins afresh each time

    with PrivateRecord() as scratch:
        for at in range(1, run.last_seq + 1):
            # when
            fork = stage.fork(run.id, at)

            # then
            parted = fork.forked_from.at if fork.forked_from is not None else 0
            assert parted <= at
            assert (fork.calls, fork.cost, fork.last_seq) == (0, Decimal(0), parted + 1)
            assert told(store, stage.go_on(fork.id)) == whole
            assert replay(stage.app, json.loads(json.dumps(store.inspector.export(fork.id))), scratch).same
    assert store.inspector.export(run.id) == export


def test_a_fork_of_a_session_s_run_knows_what_the_session_knew_then(store: Store) -> None:
    # given
    session = new_id("session")
    stage = Stage(store, lambda: a_team(restart=False))
    runs, said = [], []
    for text in ("go", "go on", "and on"):
        stage.said = {}
        runs.append(stage.play(text, session_id=session))
        said.append(stage.said)
    before = store.tenant(DEFAULT_TENANT).session(session)
    whole = told(store, runs[1])[:-1]

    # when
    for at in range(1, runs[1].last_seq + 1):
        stage.said = dict(said[1])
        ended = stage.go_on(stage.fork(runs[1].id, at).id)
        assert told(store, ended)[:-1] == whole
        assert ended.session_id is None

    # then
    assert store.tenant(DEFAULT_TENANT).session(session) == before

    # when the session is gone
    store.tenant(DEFAULT_TENANT).delete_session(session)

    # then
    with pytest.raises(ConflictError, match="is gone; its session was deleted") as caught:
        stage.fork(runs[1].id, runs[1].last_seq)
    assert caught.value.code == "past_unknown"


def test_a_fork_may_begin_a_session(store: Store) -> None:
    stage = Stage(store, lambda: a_team(restart=False))
    run = stage.play("go")
    session = new_id("session")

    fork = stage.fork(run.id, run.last_seq, session_id=session, keeps_conversation=True)
    stage.go_on(fork.id)

    kept = {agent.key: agent.history_len for agent in store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents}
    live = [row["key"] for row in store.inspector.export(run.id)["histories"] if row["aside"] is None]
    assert kept == {key: live.count(key) for key in kept}
    assert sum(kept.values()) == len(live) > 0
    stage.said = {}
    assert stage.play("go on", session_id=session).status == "completed"


def test_of_two_that_begin_a_session_at_the_same_time_a_fork_is_refused(store: Store) -> None:
    # given
    stage = Stage(store, lambda: a_team(restart=False))
    run = stage.play("go")
    session, tenant = new_id("session"), store.tenant(DEFAULT_TENANT)
    begun: list[Future[RunRecord]] = []

    with ThreadPoolExecutor(1) as pool:

        def meanwhile(_: RunTransaction) -> None:
            # The session is there, but not committed.
            begun.append(pool.submit(stage.fork, run.id, 3, session_id=session, keeps_conversation=True))
            until_it_waits(store)

        # when
        new = NewRun(id=new_id("run"), task=TASK, version=stage.app.version, message={}, session_id=session)
        first, _ = tenant.submit(new, meanwhile)

        # then
        with pytest.raises(ConflictError, match="a fork can only begin a new one") as caught:
            begun[0].result(timeout=30)
    assert caught.value.code == "session_exists"
    assert [one.id for one in tenant.runs(RunFilter(session_id=session))[0]] == [first.id]
    assert stage.submit("next", session_id=session)
    assert [one.session_no for one in tenant.runs(RunFilter(session_id=session))[0]] == [2, 1]


@pytest.mark.parametrize("at", range(1, 10))
def test_no_message_is_missing_where_a_later_run_of_the_session_ends_meanwhile(store: Store, at: int) -> None:
    # given a run with three messages, and a later one that has cut off two of them and is about to end
    session = new_id("session")
    said = [NewHistory(role="user", body={"n": n}) for n in range(3)]
    first = _begun(store, session)
    with store.coordinator.locked(first.id) as transaction:
        transaction.append_history("triage", said)
        _end(transaction)
    later = _begun(store, session)

    def end_the_later_run() -> None:
        with store.coordinator.locked(later.id) as transaction:
            transaction.cut_history("triage", 1)
            _end(transaction)

    with ThreadPoolExecutor(1) as pool:

        def meanwhile() -> None:
            ended = pool.submit(end_the_later_run)
            until_it_waits(store, ended.done)

        # when
        with interrupted(store, at, meanwhile) as other:
            found = other.inspector.export(first.id)

    # then
    assert sorted(row["body"]["n"] for row in found["histories"]) == [0, 1, 2]


def _begun(store: Store, session: str) -> RunRecord:
    run = begun_run(store, session)
    with store.coordinator.locked(run.id) as transaction:
        transaction.push_frame("triage", {"step": 0})
        happen(transaction, "task.started")
        transaction.mark()
        return transaction.run


def _end(transaction: RunTransaction) -> None:
    happen(transaction, "task.finished")
    transaction.mark()
    transaction.finish(RunStatus.COMPLETED, "DONE")
    happen(transaction, "run.completed", data={"status": "DONE"})
    transaction.mark()
    transaction.run_after()


def test_a_fork_has_the_tries_of_an_ask_that_has_not_failed_yet(store: Store) -> None:
    stage = Stage(store, a_team)
    run = stage.play("go")
    asked = next(event for event in store.inspector.events(run.id) if event.type == "turn.asked")
    with store.database.begin() as connection:
        failed = sa.update(asks).where(asks.c.run_id == run.id, asks.c.id == asked.ask_id)
        connection.execute(failed.values(failures={"unavailable": 2}))

    fork = stage.fork(run.id, asked.seq)

    rows = {row["run_id"]: row for row in store.inspector.table("asks") if row["id"] in (asked.ask_id, fork.awaiting)}
    assert rows[run.id]["failures"] == {"unavailable": 2}
    assert rows[fork.id]["failures"] is None


def test_a_fork_of_a_retried_run_has_the_deadline_that_the_retry_began(store: Store) -> None:
    # given a run that was retried long after it was accepted
    stage = Stage(store, a_team)
    run_id, tenant = stage.submit("go", deadline=60.0), store.tenant(DEFAULT_TENANT)
    stage.go_on(run_id, 1)
    with store.database.begin() as connection:
        long_ago = sa.update(runs).where(runs.c.id == run_id)
        connection.execute(
            long_ago.values(created_at=runs.c.created_at - 86_400, deadline_at=runs.c.deadline_at - 86_400)
        )
        of_run = sa.update(events).where(events.c.run_id == run_id)
        connection.execute(of_run.values(at=events.c.at - 86_400))
    assert stage.waiting(run_id).status_code == "TIMEOUT"
    tenant.retry(run_id)

    # when
    fork = stage.fork(run_id, 1)

    # then
    assert fork.deadline_at is not None
    assert fork.deadline_at - fork.created_at == pytest.approx(60.0, abs=1e-3)

    # when a retry gives the run another deadline
    with store.coordinator.locked(run_id) as transaction:
        transaction.amend(deadline_at=transaction.now - 1)
    assert stage.waiting(run_id).status_code == "TIMEOUT"
    tenant.retry(run_id, RetryLimits(deadline=500.0))
    fork = stage.fork(run_id, 1)

    # then
    assert fork.deadline_at is not None
    assert fork.deadline_at - fork.created_at == pytest.approx(500.0, abs=1e-3)


def test_what_an_older_program_wrote_is_not_made_up(store: Store) -> None:
    # given a run of which a later part was written without telling what changed
    stage = Stage(store, a_team)
    run = stage.play("go")
    asked = [event.seq for event in store.inspector.events(run.id, limit=1_000) if event.type == "turn.asked"]
    with store.database.begin() as connection:
        old = sa.update(events).where(events.c.run_id == run.id, events.c.seq >= asked[2]).values(changes=None)
        connection.execute(old)

    # then
    assert stage.fork(run.id, asked[1]).last_seq == asked[1] + 1
    with pytest.raises(ConflictError, match="a version of Turnwise that kept nothing of the past") as caught:
        stage.fork(run.id, asked[2])
    assert caught.value.code == "past_unknown"
    with PrivateRecord() as scratch:
        result = replay(stage.app, store.inspector.export(run.id), scratch)
    assert result.difference is None
    assert result.unknown is not None
    assert 0 < result.decisions < asked[2]


def test_the_same_request_makes_one_fork(store: Store) -> None:
    stage = Stage(store, a_team)
    run = stage.play("go")

    def made(at: int) -> tuple[Any, bool]:
        new = NewFork(id=new_id("run"), at=at, version="1", idempotency_key=f"key of {run.id}", body_hash=f"hash {at}")
        fork, _, is_new = store.tenant(DEFAULT_TENANT).fork(run.id, new)
        return fork.id, is_new

    first, is_new = made(3)
    assert is_new
    assert made(3) == (first, False)
    with pytest.raises(ConflictError, match="was used with another request body"):
        made(4)


def test_nothing_is_paid_for_twice(store: Store) -> None:
    stage = Stage(store, a_team)
    run = stage.play("go")
    fork = stage.fork(run.id, run.last_seq)

    with store.database.read() as connection:
        paid = sa.select(sa.func.count()).where(replies.c.run_id == fork.id, replies.c.usage.is_not(None))
        assert connection.execute(paid.where(replies.c.kind == word("answer"))).scalar_one() == 0
    assert stage.go_on(fork.id).calls == 0


def test_a_fork_needs_an_event_that_there_is(store: Store) -> None:
    stage = Stage(store, a_team)
    run = stage.play("go")

    for at in (0, run.last_seq + 1):
        with pytest.raises(InvalidRequestError, match=f"has no event {at}; name one from 1 to {run.last_seq}"):
            stage.fork(run.id, at)


@pytest.mark.parametrize("set_back", [0.0, 3_600.0])
@pytest.mark.parametrize("given", [None, "an answer"])
def test_a_receiver_is_told_that_a_fork_asks_a_person_unless_it_is_made_with_the_answer(
    store: Store, given: str | None, set_back: float
) -> None:
    # given a question that was out of time, and asked again by a retry
    stage = Stage(store, lambda: Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig())), interactive=True), ("q",))
    tenant = store.tenant(DEFAULT_TENANT)
    hook = tenant.webhooks.create_webhook(new_webhook("human.asked", "run.failed"))
    run_id = stage.submit("go", deadline=1_000.0)
    stage.go_on(run_id, 1)
    asked = stage.waiting(run_id)
    with store.coordinator.locked(run_id) as transaction:
        transaction.amend(deadline_at=transaction.now - 1)
    assert stage.waiting(run_id).status_code == "TIMEOUT"
    tenant.retry(run_id)
    # and a clock of the database that was set back since
    with store.database.begin() as connection:
        connection.execute(sa.update(events).where(events.c.run_id == run_id).values(at=events.c.at + set_back))

    # when it is forked while the question is open
    answer = NewDocument(id=new_id("doc"), body=stage.message(given)) if given is not None else None
    new = NewFork(id=new_id("run"), at=store.inspector.run(run_id).last_seq, version="1")
    fork, _, _ = tenant.fork(run_id, new, None if answer is None else lambda _question: answer)

    # then
    found = tenant.webhooks.deliveries(run_id=fork.id, webhook_id=hook.id)
    tenant.webhooks.delete_webhook(hook.id)
    if given is not None:
        assert found == []
        return
    [sent] = found
    event = store.inspector.events(fork.id)[(sent.seq or 0) - 1]
    assert (sent.type, event.type, event.ask_id) == ("human.asked", "human.asked", fork.awaiting)
    assert sent.created_at == fork.created_at > asked.created_at
