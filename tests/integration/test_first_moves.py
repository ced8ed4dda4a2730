"""First moves that a gateway makes in the transaction in which it accepts a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.waiting import until
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import Served, served
from tests.support.served_parts import Desk
from tests.support.store_parts import new_run

from turnwise import App, ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, StatusCode, Task
from turnwise.base.ids import new_id
from turnwise.base.waits import PauseWait, SessionWait
from turnwise.bus.envelope import AskEnvelope
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError
from turnwise.record.database.database import Database
from turnwise.record.events.run_events import TaskStarted
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.carrier import Carrier
from turnwise.serving.moves.first_moves import FirstMoves
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import NO_OBSERVERS

__all__ = ["database", "postgres_url"]


class Broken(Task):
    """Has a rule of its own, which fails."""

    def done(self, result: ChatDocument | None = None, r: Any = None) -> tuple[bool, StatusCode]:
        raise ZeroDivisionError("a rule of the application")


def make_app(plain: str, broken: str) -> App:
    app = App("first", version="1")

    def agent() -> ChatAgent:
        return ChatAgent(ChatAgentConfig(name="one", llm=MockLMConfig(default_response="DONE")))

    @app.task(name=plain)
    def _plain() -> Task:
        return Task(agent(), name=plain, interactive=False)

    @app.task(name=broken)
    def _broken() -> Task:
        return Broken(agent(), name=broken, interactive=False)

    return app


class Recording(InProcessBus):
    """Keeps what it is told; while it is `away` it takes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.permits: list[AskEnvelope] = []
        self.woken: list[str] = []
        self.away = False

    def publish_ask(self, envelope: AskEnvelope) -> None:
        if self.away:
            raise BrokerUnavailableError("the broker went away")
        self.permits.append(envelope)

    def wake(self, run: str, version: str | None = None) -> None:
        self.woken.append(run)


class Stage:
    """A gateway, and a desk that does what a test asks for with its runs."""

    def __init__(self, database: Database, folder: Path, opening: ExitStack) -> None:
        self.bus = Recording()
        # Tests share a database, and pauses are of a task.
        self.plain, self.broken = new_id("plain"), new_id("broken")
        app = make_app(self.plain, self.broken)
        self.desk = opening.enter_context(Desk(Store(database), app, bus=self.bus))
        self._database, self._folder, self._opening, self._app = database, folder, opening, app
        self.gateway = self._open("worker")

    def _open(self, moves: str) -> Served:
        queues = {"one": self.desk.own}
        settings: dict[str, Any] = {"moves": moves, "llm_queues": queues, "agent_queues": queues}
        made = served(self._folder, database=self._database, app=self._app, bus=self.bus, **settings)
        return self._opening.enter_context(made)

    def coordinated(self) -> Served:
        """A gateway that leaves first moves to coordinators."""
        return self._open("coordinator")

    def answer(self) -> None:
        """Answer the one ask that was published."""
        (permit,) = self.bus.permits
        assert self.desk.responders.answer(permit)


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as opening:
        yield Stage(database, tmp_path, opening)


def story(stage: Stage, run_id: str) -> list[tuple[Any, ...]]:
    """The events of a run, without the ids that are its own."""
    found = stage.desk.store.inspector.events(run_id)
    return [
        (event.seq, event.type, event.path, event.turn, event.candidate, sorted(event.data or {})) for event in found
    ]


def test_a_run_is_accepted_with_its_first_ask(stage: Stage) -> None:
    run_id = stage.gateway.submit(task=stage.plain)

    run = stage.desk.store.inspector.run(run_id)
    assert (run.status, run.awaiting, run.move_due_at) == ("running", f"{run_id}.1.0.2", None)
    assert [permit.ask for permit in stage.bus.permits] == [run.awaiting]
    assert stage.bus.woken == []
    stage.answer()
    assert stage.desk.store.inspector.run(run_id).status == "completed"


def test_the_events_are_those_of_a_first_move_by_a_coordinator(stage: Stage) -> None:
    mine = stage.gateway.submit(task=stage.plain)
    stage.answer()
    theirs = stage.coordinated().submit(task=stage.plain)
    assert stage.desk.go_on(theirs).ended or stage.desk.store.inspector.run(theirs).ended

    assert stage.bus.woken == [theirs]
    assert story(stage, mine) == story(stage, theirs)


def test_a_sweep_finds_the_ask_of_a_gateway_that_died_before_it_told_a_worker(stage: Stage) -> None:
    stage.bus.away = True
    run_id = stage.gateway.submit(task=stage.plain)
    stage.bus.away = False

    def swept() -> list[str]:
        return [ask.id for ask in stage.desk.store.coordinator.permits(f"llm-{stage.desk.own}", 0)]

    asked = until(swept, "a sweep to publish the ask")

    assert asked == [f"{run_id}.1.0.2"]
    assert stage.desk.store.inspector.run(run_id).status == "running"


def test_a_repeated_submission_makes_no_second_move(stage: Stage) -> None:
    key = {"Idempotency-Key": new_id("key")}
    body = {"task": stage.plain, "message": "hello"}
    answers = [stage.gateway.http.post("/v1/runs", json=body, headers=key) for _ in range(2)]

    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert len(stage.bus.permits) == 1
    assert stage.bus.woken == []


def test_a_run_of_a_session_waits_for_the_run_before_it(stage: Stage) -> None:
    session = new_id("session")
    first = stage.gateway.submit(task=stage.plain, session_id=session)
    second = stage.gateway.submit(task=stage.plain, session_id=session)

    waits = stage.desk.store.inspector.run(second)
    assert (waits.status, waits.waiting_for, waits.move_due_at) == ("queued", SessionWait(run=first), None)
    stage.answer()

    assert stage.bus.woken == [second]
    assert stage.desk.go_on(second).started_at is not None


def test_a_run_that_is_paused_does_not_begin(stage: Stage) -> None:
    operator = stage.desk.store.operator()
    operator.pause("task", stage.plain)
    try:
        run = stage.desk.store.inspector.run(stage.gateway.submit(task=stage.plain))
    finally:
        operator.resume("task", stage.plain)

    assert (run.status, run.started_at, run.move_due_at) == ("queued", None, None)
    assert isinstance(run.waiting_for, PauseWait)


def test_a_task_with_rules_of_its_own_is_left_to_a_coordinator(stage: Stage) -> None:
    run_id = stage.gateway.submit(task=stage.broken)

    assert stage.bus.woken == [run_id]
    assert stage.desk.store.inspector.run(run_id).started_at is None


def test_the_error_of_such_a_rule_ends_the_run_and_not_the_request(stage: Stage) -> None:
    run_id = stage.gateway.submit(task=stage.broken)

    ended = stage.desk.go_on(run_id)

    assert (ended.status, ended.status_code) == ("failed", "ERROR")
    assert ended.error is not None
    assert ended.error.type == "ZeroDivisionError"


class Failing(Mover):
    """Fails where no application is to blame."""

    def move(self, tx: RunTransaction, carrier: Carrier | None = None) -> Moved:
        tx.event(TaskStarted())
        raise AssertionError("a fault of the program")


def test_a_move_that_fails_is_left_to_a_coordinator(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    new, record = new_run(task=stage.plain), stage.desk.store.tenant(DEFAULT_TENANT)
    moves = FirstMoves(Failing(app=stage.desk.app, llm_queues={}, agent_queues={}), allowed=True)

    run, created, moved = moves.submit(record, new, Dispatcher(stage.bus), NO_OBSERVERS)

    assert (run.id, created, moved) == (new.id, True, None)
    assert stage.desk.events(new.id) == ["run.accepted"]
    assert [getattr(record, "action", None) for record in caplog.records] == ["first_move_left"]


def test_a_fault_after_the_run_was_accepted_does_not_accept_it_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, record = new_run(task=stage.plain), stage.desk.store.tenant(DEFAULT_TENANT)
    moves = FirstMoves(Mover(app=stage.desk.app, llm_queues={}, agent_queues={}), allowed=True)

    def fail(envelope: AskEnvelope) -> None:
        raise RuntimeError("a fault of the bus")

    monkeypatch.setattr(stage.bus, "publish_ask", fail)
    with pytest.raises(RuntimeError, match="a fault of the bus"):
        moves.submit(record, new, Dispatcher(stage.bus), NO_OBSERVERS)

    assert "turn.asked" in stage.desk.events(new.id)


class Slow(Mover):
    """Takes until a third run is accepted."""

    began = threading.Semaphore(0)
    ends = threading.Event()

    def move(self, tx: RunTransaction, carrier: Carrier | None = None) -> Moved:
        self.began.release()
        assert self.ends.wait(60)
        return super().move(tx, carrier)


@pytest.mark.parametrize("database", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_a_process_that_makes_two_first_moves_leaves_others_to_coordinators(stage: Stage) -> None:
    """On SQLite no third transaction would begin, because there is one writer at a time."""
    record = stage.desk.store.tenant(DEFAULT_TENANT)
    moves = FirstMoves(Slow(app=stage.desk.app, llm_queues={}, agent_queues={}), allowed=True)
    ended: list[Moved | None] = []

    def submit() -> None:
        ended.append(moves.submit(record, new_run(task=stage.plain), Dispatcher(stage.bus), NO_OBSERVERS)[2])

    threads = [threading.Thread(target=submit) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert all(Slow.began.acquire(timeout=60) for _ in threads)
        submit()
    finally:
        Slow.ends.set()
        for thread in threads:
            thread.join()

    assert ended[0] is None
    assert [moved is not None and moved.began for moved in ended[1:]] == [True, True]


def test_a_run_of_another_version_is_left_to_its_coordinators(stage: Stage) -> None:
    record = stage.desk.store.tenant(DEFAULT_TENANT)
    moves = FirstMoves(Mover(app=stage.desk.app, llm_queues={}, agent_queues={}), allowed=True)

    run, _, moved = moves.submit(record, new_run(task=stage.plain, version="2"), Dispatcher(stage.bus), NO_OBSERVERS)

    assert (run.version, run.started_at, moved) == ("2", None, None)
