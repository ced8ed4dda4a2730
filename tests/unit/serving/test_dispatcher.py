"""What other processes are told of runs: by whom, and what is left to sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.base.ids import new_id
from turnwise.bus.envelope import AskEnvelope, CancelNotice, Notice
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import AskRecord, NewRun, RunRecord
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.moved import Moved


class Recording(InProcessBus):
    """Keeps what it is told; while it is `away` it takes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.woken: list[tuple[str, str | None]] = []
        self.permits: list[str] = []
        self.cancelled: list[str] = []
        self.away = False

    def publish_ask(self, envelope: AskEnvelope) -> None:
        self._reach()
        self.permits.append(envelope.ask)

    def wake(self, run: str, version: str | None = None) -> None:
        self._reach()
        self.woken.append((run, version))

    def notify(self, notice: Notice) -> None:
        self._reach()
        if isinstance(notice, CancelNotice):
            self.cancelled.append(notice.run)

    def _reach(self) -> None:
        if self.away:
            raise BrokerUnavailableError("it is away")


@pytest.fixture
def bus() -> Iterator[Recording]:
    made = Recording()
    yield made
    made.close()


def _app(version: str) -> App:
    app = App("tests", version=version)

    @app.task
    def desk() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(default_response="DONE")))
        return Task(agent, name="desk", interactive=False)

    return app


def _submit(store: Store, **given: Any) -> RunRecord:
    new = NewRun(id=new_id("run"), task="desk", message={"content": "hello"}, **{"version": "1", **given})
    run, _ = store.tenant(DEFAULT_TENANT).submit(new)
    return run


def _asked(store: Store, bus: Recording) -> tuple[RunRecord, AskRecord]:
    """A run of version 1 that is at an ask to its model."""
    with Desk(store, _app("1"), bus=bus) as desk:
        run_id = desk.submit("desk")
        assert desk.coordinator.move(run_id).ask is not None
    bus.permits.clear()
    with store.coordinator.locked(run_id) as transaction:
        ask = transaction.open_ask()
    assert ask is not None
    return store.inspector.run(run_id), ask


@pytest.mark.parametrize(("policy", "told"), [("pinned", "2"), ("adopt", None)])
def test_the_end_of_a_run_wakes_the_next_one_of_its_session_where_its_version_is(
    store: Store, bus: Recording, policy: Any, told: str | None
) -> None:
    session = new_id("session")
    first, second = _submit(store, session_id=session), _submit(store, session_id=session, version="2")

    with Desk(store, _app("1"), bus=bus, version_policy=policy, moves="coordinator") as desk:
        assert desk.go_on(first.id).status == "completed"

    assert (second.id, told) in bus.woken
    assert {version for run, version in bus.woken if run == second.id} == {told}


@pytest.mark.parametrize(("mine", "told"), [("1", "2"), (None, None)])
def test_coordinators_of_the_version_of_a_run_are_woken_where_runs_are_pinned(
    store: Store, bus: Recording, mine: str | None, told: str | None
) -> None:
    run, dispatcher = _submit(store, version="2"), Dispatcher(bus, version=mine)

    dispatcher.wake(run)
    dispatcher.cancelled(run)
    dispatcher.continue_run(run, None)
    assert dispatcher.wake_all([run, run])

    assert bus.woken == [(run.id, told)] * 5
    assert bus.cancelled == [run.id]


def test_any_coordinator_is_woken_for_the_batch_of_a_run_that_has_ended(store: Store, bus: Recording) -> None:
    run = replace(_submit(store, version="2"), batch_id="bat_1")

    Dispatcher(bus, version="1").moved(Moved(run=run, ended=True))

    assert bus.woken == [(run.id, None)]


@pytest.mark.parametrize(("mine", "published"), [("1", True), (None, True), ("2", False)])
def test_a_permit_for_workers_of_another_version_is_left_to_their_sweep(
    store: Store, bus: Recording, mine: str | None, published: bool
) -> None:
    run, ask = _asked(store, bus)
    bus.woken.clear()

    Dispatcher(bus, version=mine).continue_run(run, ask)

    assert bus.permits == ([ask.id] if published else [])
    assert bus.woken == []


def test_a_broker_that_is_away_costs_a_line_for_each_message(
    store: Store, bus: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    run, ask = _asked(store, bus)
    dispatcher, bus.away = Dispatcher(bus), True
    caplog.clear()

    dispatcher.wake(run)
    dispatcher.continue_run(run, ask)
    dispatcher.cancelled(run)

    told = [(getattr(line, "action", None), getattr(line, "run", None)) for line in caplog.records]
    assert told == [(name, run.id) for name in ("wake_failed", "publish_failed", "wake_failed", "cancel_notice_failed")]


def test_many_messages_end_at_the_first_that_the_broker_does_not_take(
    store: Store, bus: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    run, ask = _asked(store, bus)
    dispatcher, bus.away = Dispatcher(bus), True
    caplog.clear()

    assert not dispatcher.wake_all([run, run, run])
    assert not dispatcher.publish_all([ask, ask])

    told = [(getattr(line, "action", None), getattr(line, "runs", None)) for line in caplog.records]
    assert told == [("wake_failed", 3), ("publish_failed", None)]
