"""Forks and exports on each database: what was, is there again, whatever came after."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.past_parts import Stage, told

from turnwise import ChatAgent, ChatAgentConfig, LLMResponse, MockLMConfig, Task
from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidRequestError
from turnwise.record.database.columns import word
from turnwise.record.database.schema import events, replies
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.runs.records import NewFork
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
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
