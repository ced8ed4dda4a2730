"""The checker of records: each promise, broken by hand in a record that keeps them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, Task
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.serving.moves.permits import permit
from turnwise.testing import MockLMConfig, check

app = App("desk", version="1")


@app.task
def desk() -> Task:
    model = MockLMConfig(default_response="DONE yes")
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "record.db")
    made = Store(database)
    with Desk(made, app) as served:
        assert served.go_on(served.submit("desk")).status == "completed"
    yield made
    database.close()


def retried(store: Store) -> None:
    """Have a run fail by its model, and complete after a retry."""
    broken = True

    def says(_: str) -> str:
        if broken:
            raise ValueError("the model is broken")
        return "DONE yes"

    failing = App("failing", version="1")

    @failing.task
    def desk() -> Task:
        return Task(ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=says))), interactive=False)

    with Desk(store, failing) as served:
        run_id = served.submit("desk")
        assert served.go_on(run_id).status == "failed"
        broken = False
        _, ask = store.tenant(DEFAULT_TENANT).retry(run_id)
        assert ask is not None
        assert served.responders.answer(permit(ask))
        assert served.go_on(run_id).status == "completed"


def broken_by(store: Store, *statements: str) -> set[str]:
    with store.database.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    return {violation.promise for violation in check(store)}


def test_a_good_record_keeps_every_promise(store: Store) -> None:
    assert check(store) == []


def test_a_run_that_was_retried_keeps_every_promise(store: Store) -> None:
    retried(store)
    assert check(store) == []


def test_a_reply_that_is_told_twice_after_a_retry_is_found(store: Store) -> None:
    retried(store)
    twice = (
        "UPDATE events SET type = 'turn.replied', ask_id = r.ask_id FROM events r "
        "WHERE r.type = 'run.retried' AND events.run_id = r.run_id AND events.type = 'run.completed'"
    )
    assert "one ask, one reply" in broken_by(store, twice)


def test_a_limit_of_nothing_is_none(store: Store) -> None:
    used = "UPDATE runs SET prompt_tokens = 9, cost = '2', max_tokens = 0, max_cost = '0', uncounted = NULL"
    counted = "UPDATE usage_days SET prompt_tokens = 9, cost = '2'"
    budget = "INSERT INTO budgets (scope, scope_id, limit_tokens, spent_tokens) VALUES ('session', 's', 0, 6)"
    assert broken_by(store, used, counted, budget) == set()


@pytest.mark.parametrize(
    ("promise", "statement"),
    [
        ("order", "DELETE FROM events WHERE seq = 2"),
        ("order", "UPDATE events SET at = 1 WHERE seq = 3"),
        ("accepted is kept", "UPDATE events SET type = 'turn.taken' WHERE type = 'run.completed'"),
        ("accepted is kept", "UPDATE events SET type = 'run.completed' WHERE seq = 2"),
        ("accepted is kept", "UPDATE runs SET status = 'running', waiting_for = NULL"),
        ("one ask, one reply", "DELETE FROM replies"),
        ("one ask, one reply", "UPDATE events SET type = 'turn.replied', ask_id = (SELECT id FROM asks) WHERE seq = 2"),
        ("one ask, one reply", "UPDATE events SET type = 'turn.asked' WHERE type = 'turn.replied'"),
        ("no overspend", "UPDATE runs SET calls = 0"),
        ("no overspend", "UPDATE runs SET cost = '2', max_cost = '1'"),
        ("no overspend", "UPDATE runs SET prompt_tokens = 9, max_tokens = 8"),
        ("nothing left", "UPDATE asks SET status = 'leased', worker_id = 'w'"),
        ("nothing left", "UPDATE asks SET status = 'runnable'"),
        (
            "no overspend",
            "INSERT INTO budgets (scope, scope_id, limit_tokens, spent_tokens) VALUES ('session', 's', 5, 6)",
        ),
        ("no overspend", "INSERT INTO budgets (scope, scope_id, reserved_tokens) VALUES ('session', 's', 6)"),
        (
            "no overspend",
            "INSERT INTO reservations (run_id, ask_id, token, call_no, model, tokens, created_at) "
            "SELECT run_id, id, 1, 1, 'm', 9, 1 FROM asks",
        ),
    ],
)
def test_a_broken_promise_is_found(store: Store, promise: str, statement: str) -> None:
    assert promise in broken_by(store, statement)


def test_a_violation_is_a_sentence_with_the_events_around_it(store: Store) -> None:
    run_id = store.inspector.runs()[0][0].id
    broken_by(store, "DELETE FROM replies")
    first = check(store)[0]
    assert first.run == run_id
    assert "is answered, and no reply was accepted" in str(first)
    assert "turn.replied" in str(first)


def test_a_record_in_use_is_checked_for_what_is_always_true(store: Store) -> None:
    broken_by(store, "UPDATE asks SET status = 'leased', worker_id = 'w', id = id")
    assert {violation.promise for violation in check(store, quiet=False)} == set()
