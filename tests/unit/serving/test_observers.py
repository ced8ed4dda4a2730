"""The moments of a served run at which observers are told, and observers that fail."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.support.observers import (
    ACCEPTED,
    ANSWER,
    CLAIM,
    FIRST_MOVE,
    LAST_MOVE,
    LIFE,
    Failing,
    FailingLater,
    Seen,
    observed_app,
)
from tests.support.served_parts import Desk
from tests.support.store_parts import asked_run, new_worker

from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError
from turnwise.processes import observers as shipped
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers import observers_of
from turnwise.record.store import Store
from turnwise.serving.observer import HOOKS, NO_OBSERVERS, Observer, Observers

ROOT = Path(__file__).parents[3]


def test_hooks_are_called_in_the_order_of_a_runs_life(store: Store) -> None:
    seen = Seen()
    with Desk(store, observed_app(), observers=[seen], moves="coordinator") as desk:
        run = desk.go_on(desk.submit("desk"))

    assert run.status == "completed"
    assert seen.work == [ACCEPTED, *LIFE]


def test_a_move_that_is_made_with_the_reply_is_told_of_within_the_attempt(store: Store) -> None:
    seen = Seen()
    with Desk(store, observed_app(), observers=[seen], moves="worker") as desk:
        moved = desk.coordinator.move(desk.submit("desk"))
        assert desk.answer(moved)

    move = ["around_move (", "move_began", "move_made", ")"]
    after = ["events_stored", "reply_stored", "step_ended", "run_moved", ")"]
    assert seen.work[3] == ["around_attempt (", "attempt_ended", *move, *after]
    assert next(more for hook, _, more in seen.moments if hook == "reply_stored") == {"moved": True}


def test_a_move_that_has_nothing_to_do_begins_nothing(store: Store) -> None:
    seen = Seen()
    with Desk(store, observed_app(), observers=[seen]) as desk:
        run = desk.go_on(desk.submit("desk"))
        seen.work.clear()
        desk.coordinator.move(run.id)

    assert seen.work == [["around_move (", "run_moved", ")"]]


def test_an_observer_that_raises_is_logged_and_changes_nothing(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with Desk(store, observed_app(), observers=[Failing(), FailingLater()]) as desk:
        run = desk.go_on(desk.submit("desk"))

    assert (run.status, (run.result or {})["content"]) == ("completed", "nothing there")
    failed: list[Any] = [line for line in caplog.records if getattr(line, "action", "") == "observer_failed"]
    told = {line.hook for line in failed}
    assert told == {hook for call in (*FIRST_MOVE, *CLAIM, *ANSWER, *LAST_MOVE) if (hook := call.strip(" ()"))}
    assert {line.levelno for line in failed} == {logging.ERROR}
    assert "The observer Failing failed at run_ended" in caplog.text
    assert "RuntimeError: run_ended is of no use" in caplog.text


def test_an_observer_that_raises_is_not_in_the_way_of_the_next() -> None:
    seen = Seen()
    observers = Observers(Failing(), seen)

    observers.leases_expired([])
    with observers.around_move("run_1"):
        pass

    assert seen.work == [["leases_expired"], ["around_move (", ")"]]


def test_an_observer_that_fails_at_the_end_hides_no_error_of_the_work() -> None:
    observers = Observers(FailingLater())

    with pytest.raises(ZeroDivisionError), observers.around_move("run_1"):
        raise ZeroDivisionError


def test_a_hook_within_a_transaction_lets_errors_of_the_database_pass() -> None:
    class Reading(Observer):
        def move_began(self, transaction: Any) -> None:
            raise DatabaseUnavailableError("away")

        def move_made(self, run: Any) -> None:
            raise BrokerUnavailableError("away, too")

    observers = Observers(Reading())
    nothing: Any = None

    observers.move_made(nothing)
    with pytest.raises(DatabaseUnavailableError):
        observers.move_began(nothing)


def test_a_hook_that_no_observer_has_is_not_called_through_the_list() -> None:
    class Counting(Observer):
        def run_purged(self, run: Any) -> None: ...

    assert set(vars(Observers(Counting(), Observer()))) == {"run_purged"}
    assert vars(NO_OBSERVERS) == {}
    assert set(vars(Observers(NO_OBSERVERS, Observers(Counting())))) == {"run_purged"}


def test_every_hook_has_an_observer_and_a_moment() -> None:
    ours = observers_of(observed_app(), InProcessBus(), Metrics(CollectorRegistry()))
    called = {
        node.attr
        for folder in ("shared", "services")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and _is_list(file, node.value)
    }

    assert [hook for hook in HOOKS if hook not in vars(ours)] == [], "no observer has them"
    assert [hook for hook in HOOKS if hook not in called] == [], "no service calls them"


def _is_list(file: Path, node: ast.expr) -> bool:
    """Return whether this is a list of observers, by its name; within the list itself it is called `self`."""
    name = ast.unparse(node).rpartition(".")[2]
    return name in ("observers", "_observers") or (name == "self" and file.name == "observer.py")


def test_the_shipped_observers_are_told_in_one_place() -> None:
    files = {file.stem for file in Path(shipped.__file__).parent.glob("*.py")}
    assert files == {"__init__", "callbacks", "log_lines", "metrics", "notices", "tracing"}


def test_asks_that_a_sweep_takes_over_are_counted(store: Store) -> None:
    quick = Store(store.database, lease_seconds=0.01)
    asked_run(quick, "llm")
    assert quick.worker.claim("llm", new_worker(quick, "llm")) is not None
    seen = Seen()
    with Desk(quick, observed_app(), observers=[seen]) as desk:
        while not seen.work:
            desk.sweep()

    [(_, (asks,), _)] = [moment for moment in seen.moments if moment[0] == "leases_expired"]
    assert len(asks) == 1
