"""The changes of a session's conversation by a run: all of them once the run completes, and else none."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
import sqlalchemy as sa
from tests.support.store_parts import begun_run, new_run, remembered

from turnwise.base.ids import new_id
from turnwise.record.database.schema import agent_states, histories
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AgentRecord, Json, NewHistory, RunRecord
from turnwise.serving.attempts.history_cache import HistoryCache

Change = Callable[[RunTransaction], None]

_BEFORE = [{"content": text} for text in ("one", "two", "three", "four")]


def _rows(*texts: str) -> list[NewHistory]:
    return [NewHistory(role="user", body={"content": text}, tokens=3) for text in texts]


def _append(transaction: RunTransaction) -> None:
    transaction.append_history("triage", _rows("five", "six"))


def _clear(transaction: RunTransaction) -> None:
    transaction.clear_history("triage")


def _begin_anew(transaction: RunTransaction) -> None:
    transaction.clear_history("triage")
    transaction.append_history("triage", _rows("another one"))


def _cut_back(transaction: RunTransaction) -> None:
    last = transaction.history_row("triage", 3)
    transaction.cut_history("triage", 1)
    transaction.append_history("triage", [NewHistory(role=last.role, body=last.body, tokens=last.tokens)])


def _cut_twice(transaction: RunTransaction) -> None:
    transaction.append_history("triage", _rows("five"))
    transaction.cut_history("triage", 3)
    transaction.append_history("triage", _rows("another four", "and five"))
    transaction.cut_history("triage", 4)


def _state(transaction: RunTransaction) -> None:
    transaction.save_agent("triage", record={"tools": ["new"]}, state={"visits": 9})


def _another_agent(transaction: RunTransaction) -> None:
    transaction.append_history("triage:helper", _rows("hello, helper"))
    transaction.save_agent("triage:helper", state={"helped": True})


def _nothing(_transaction: RunTransaction) -> None:
    pass


# What a run does to the agent, and the history that it then has.
_CHANGES: dict[str, tuple[Change, list[str]]] = {
    "appends": (_append, ["one", "two", "three", "four", "five", "six"]),
    "clears": (_clear, []),
    "begins anew": (_begin_anew, ["another one"]),
    "cuts back": (_cut_back, ["one", "four"]),
    "cuts twice": (_cut_twice, ["one", "two", "three", "another four"]),
    "changes record and state": (_state, ["one", "two", "three", "four"]),
    "has another agent": (_another_agent, ["one", "two", "three", "four"]),
    "changes nothing": (_nothing, ["one", "two", "three", "four"]),
}


def _session_with_a_run(store: Store) -> str:
    session = new_id("session")
    first = begun_run(store, session)
    with store.coordinator.locked(first.id) as transaction:
        transaction.append_history("triage", _rows("one", "two", "three", "four"))
        transaction.save_agent("triage", record={"tools": ["old"]}, state={"visits": 1})
    _end(store, first, "completed")
    return session


def _end(store: Store, run: RunRecord, status: str, last_words: Change = _nothing) -> RunRecord:
    with store.coordinator.locked(run.id) as transaction:
        last_words(transaction)
        transaction.finish(RunStatus(status), None)
    return store.inspector.run(run.id)


def _agent(store: Store, run: RunRecord, key: str = "triage") -> AgentRecord:
    with store.coordinator.locked(run.id) as transaction:
        return transaction.agent(key)


def _kept(store: Store, *owners: str | None) -> tuple[int, int]:
    """Return the number of rows of agents and of histories under these owners."""
    with store.database.read() as connection:
        count = [
            connection.execute(sa.select(sa.func.count()).where(table.c.owner.in_(owners))).scalar_one()
            for table in (agent_states, histories)
        ]
    return count[0], count[1]


@pytest.mark.parametrize("name", _CHANGES)
@pytest.mark.parametrize("status", ["failed", "cancelled"])
@pytest.mark.parametrize("when", ["earlier", "in the transaction that ends it"])
def test_a_run_that_does_not_complete_leaves_the_session_as_it_was(
    store: Store, name: str, status: str, when: str
) -> None:
    # given
    session, (change, changed) = _session_with_a_run(store), _CHANGES[name]
    shown = store.tenant(DEFAULT_TENANT).session(session).tasks
    run = begun_run(store, session)
    at_first = _agent(store, run)

    # when
    if when == "earlier":
        with store.coordinator.locked(run.id) as transaction:
            change(transaction)
        assert [body["content"] for body in remembered(store, run)] == changed
        assert (
            replace(store.tenant(DEFAULT_TENANT).session(session).tasks[0], runs=1) == shown[0]
        )  # as long as it works, too
        ended = _end(store, run, status)
    else:
        ended = _end(store, run, status, change)

    # then
    assert replace(store.tenant(DEFAULT_TENANT).session(session).tasks[0], runs=1) == shown[0]
    assert [body["content"] for body in remembered(store, run)] == changed  # it may go on
    assert _kept(store, ended.conversation_id) == (1, 4)
    after = begun_run(store, session)
    assert _agent(store, after) == at_first
    assert _agent(store, after, "triage:helper") == AgentRecord(key="triage:helper")
    assert remembered(store, after) == _BEFORE


@pytest.mark.parametrize("name", _CHANGES)
@pytest.mark.parametrize("when", ["earlier", "in the transaction that ends it"])
def test_what_a_run_that_completes_has_changed_is_the_sessions(store: Store, name: str, when: str) -> None:
    # given
    session, (change, changed) = _session_with_a_run(store), _CHANGES[name]
    run = begun_run(store, session)

    # when
    if when == "earlier":
        with store.coordinator.locked(run.id) as transaction:
            change(transaction)
        left = _agent(store, run), _agent(store, run, "triage:helper")
        ended = _end(store, run, "completed")
    else:
        with store.coordinator.locked(run.id) as transaction:
            change(transaction)
            left = transaction.agent("triage"), transaction.agent("triage:helper")
            transaction.finish(RunStatus.COMPLETED, None)
        ended = store.inspector.run(run.id)

    # then
    assert _kept(store, run.id) == (0, 0)
    helpers = 1 if left[1].history_len else 0
    assert _kept(store, ended.conversation_id) == (1 + helpers, len(changed) + helpers)
    shown = store.tenant(DEFAULT_TENANT).session(session).tasks[0].agents
    assert [agent.history_len for agent in shown] == [len(changed)] + [1] * helpers
    assert all((agent.base_len, agent.base_epoch) == (0, 0) for agent in shown)
    after = begun_run(store, session)
    assert [body["content"] for body in remembered(store, after)] == changed
    for before, now in zip(left, (_agent(store, after), _agent(store, after, "triage:helper")), strict=True):
        assert replace(now, base_len=0, base_epoch=0) == replace(before, base_len=0, base_epoch=0)


def test_a_run_that_takes_up_no_conversation_keeps_its_agents_to_itself(store: Store) -> None:
    session = _session_with_a_run(store)
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run(session_id=session))
    with store.coordinator.locked(run.id) as transaction:
        assert transaction.agent("triage").history_len == 0
        _append(transaction)
        transaction.finish(RunStatus.COMPLETED, "DONE")

    assert [row.body["content"] for row in store.inspector.history(run.id, "triage")] == ["five", "six"]
    assert remembered(store, begun_run(store, session)) == _BEFORE


def test_a_transaction_that_is_not_committed_ends_no_run_and_changes_no_conversation(store: Store) -> None:
    session = _session_with_a_run(store)
    run = begun_run(store, session)
    with store.coordinator.locked(run.id) as transaction:
        _cut_back(transaction)

    with pytest.raises(ZeroDivisionError), store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, None)
        transaction.flush()
        raise ZeroDivisionError

    assert store.inspector.run(run.id).status == "running"
    assert [body["content"] for body in remembered(store, run)] == ["one", "four"]
    _end(store, run, "failed")
    assert remembered(store, begun_run(store, session)) == _BEFORE


def test_runs_that_fail_leave_no_rows_in_the_conversation(store: Store) -> None:
    session = _session_with_a_run(store)
    changes = [change for change, _ in _CHANGES.values()]
    runs = []
    for no in range(50):
        runs.append(begun_run(store, session))
        with store.coordinator.locked(runs[-1].id) as transaction:
            changes[no % len(changes)](transaction)
        _end(store, runs[-1], "failed" if no % 2 else "cancelled")

    assert _kept(store, runs[0].conversation_id) == (1, 4)


def test_a_session_is_deleted_after_a_run_that_failed(store: Store) -> None:
    session = _session_with_a_run(store)
    run = begun_run(store, session)
    with store.coordinator.locked(run.id) as transaction:
        _cut_back(transaction)
    _end(store, run, "failed")

    store.tenant(DEFAULT_TENANT).delete_session(session)

    assert _kept(store, run.id, run.conversation_id) == (0, 0)
    assert remembered(store, begun_run(store, session)) == []


@dataclass
class _Plain:
    """A session as plain lists: what each run may do, done in the simplest way."""

    session: list[Json] = field(default_factory=list)
    run: list[Json] = field(default_factory=list)


@pytest.mark.parametrize("room", [4, 50_000])
@pytest.mark.parametrize("seed", range(4))
def test_workers_with_old_memories_read_what_the_run_has_said_and_nothing_else(
    store: Store, seed: int, room: int
) -> None:
    chance = random.Random(seed)
    session, plain, said = new_id("session"), _Plain(), 0
    workers = [HistoryCache(store.worker, most_messages=room) for _ in range(3)]  # each hears of some of the asks only
    for _ in range(12):
        run = begun_run(store, session)
        plain.run = list(plain.session)
        for _ in range(chance.randrange(5)):
            worker, agent = chance.choice(workers), _agent(store, run)
            assert [message.content for message in worker.load(run, agent)] == [row["content"] for row in plain.run]
            keep = chance.choice([None, None, None, 0, chance.randrange(agent.history_len + 1)])
            texts = [str(said := said + 1) for _ in range(chance.randrange(3))]
            rows = [NewHistory(role="user", body={"role": "user", "content": text}) for text in texts]
            with store.coordinator.locked(run.id) as transaction:
                if keep is not None:
                    transaction.cut_history("triage", keep)
                transaction.append_history("triage", rows)
            worker.accepted(run, agent, Reply(kind="nothing", keep_history=keep, history=tuple(rows)))
            plain.run = plain.run[:keep] + [row.body for row in rows]
        status = chance.choice(["completed", "failed", "cancelled"])
        _end(store, run, status)
        plain.session = plain.run if status == "completed" else plain.session

    assert remembered(store, begun_run(store, session)) == plain.session
