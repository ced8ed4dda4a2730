"""Runs that began with one version of the application, among processes of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.base.ids import new_id
from turnwise.machine import state as states
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import EventRecord, NewRun, RunRecord
from turnwise.serving.wait_reason import why_waiting


class Clock:
    """The time as the database sees it."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "turnwise.db", clock)
    yield Store(database)
    database.close()


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look something up."

    def handle(self) -> str:
        return "found"


def _app(version: str, *, without: str = "") -> App:
    """Two tasks whose agent uses its tool, and then says by which version it was built."""
    app = App("shop", version=version)

    def build() -> Task:
        def answer(said: str) -> str:
            return f"DONE {version} says" if "found" in said else '{"request": "look"}'

        agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=answer)))
        agent.enable_message(Look)
        return Task(agent, name="desk", interactive=False)

    for name in {"desk", "till"} - {without}:
        app.task(name=name)(build)
    return app


def _submit(store: Store, version: str, task: str = "desk") -> str:
    run, _ = store.tenant(DEFAULT_TENANT).submit(
        NewRun(id=new_id("run"), task=task, version=version, message={"content": "hello"})
    )
    return run.id


def _events(store: Store, run_id: str, kind: str) -> list[EventRecord]:
    return [event for event in store.inspector.events(run_id) if event.type == kind]


def test_another_version_goes_on_with_a_run_and_the_events_say_so(store: Store) -> None:
    with (
        Desk(store, _app("1"), moves="coordinator") as old,
        Desk(store, _app("2"), beside=old, moves="coordinator") as new,
    ):
        run_id = _submit(store, "1")
        old.answer(old.coordinator.move(run_id))
        run = new.go_on(run_id)

    assert (run.status, run.version, (run.result or {})["content"]) == ("completed", "1", "2 says")
    asked, replied = (_events(store, run_id, kind) for kind in ("turn.asked", "turn.replied"))
    assert [(event.data or {}).get("version") for event in asked] == [None, "2", "2"]
    assert [(event.data or {}).get("version") for event in replied] == [None, "2", "2"]


def test_a_run_whose_task_the_new_version_lacks_fails_and_says_why(store: Store) -> None:
    with Desk(store, _app("2", without="till")) as new:
        run_id = _submit(store, "1", task="till")
        run = new.coordinator.move(run_id).run

    assert run.status == "failed"
    assert run.error is not None
    assert "has no task 'till'" in run.error.message
    assert "began with version 1 of the application and version 2 went on" in run.error.message
    assert (run.error.type, run.error.version) == ("UnknownTaskError", "2")


def test_a_pinned_run_is_left_alone_by_another_version_at_every_turn(store: Store) -> None:
    pinned: Any = {"version_policy": "pinned"}
    with Desk(store, _app("1"), **pinned) as old, Desk(store, _app("2"), beside=old, **pinned) as new:
        run_id = _submit(store, "1")
        _left_alone(store, new, run_id)
        moved = old.coordinator.move(run_id)
        while not moved.run.ended:
            assert moved.ask is not None
            assert not new.responders.answer(moved.ask)
            _left_alone(store, new, run_id)
            assert old.answer(moved)
            _left_alone(store, new, run_id)
            moved = old.coordinator.move(run_id)

    assert (moved.run.status, (moved.run.result or {})["content"]) == ("completed", "1 says")
    assert all("version" not in (event.data or {}) for event in _events(store, run_id, "turn.asked"))


def _left_alone(store: Store, desk: Desk, run_id: str) -> None:
    before = store.inspector.run(run_id)
    desk.coordinator.move(run_id)
    assert store.inspector.run(run_id) == before


def test_sweeps_of_pinned_versions_see_their_own_runs(store: Store, clock: Clock) -> None:
    runs = {version: _submit(store, version) for version in ("1", "2")}
    clock.now += 60

    assert store.coordinator.due_moves(version="1") == [runs["1"]]
    assert store.coordinator.due_moves(version="2") == [runs["2"]]
    assert store.coordinator.due_moves(version="3") == []
    assert set(store.coordinator.due_moves()) == set(runs.values())


def test_permits_of_pinned_versions_are_topped_up_for_their_own(store: Store, clock: Clock) -> None:
    with Desk(store, _app("1"), version_policy="pinned") as old:
        run_id = _submit(store, "1")
        moved = old.coordinator.move(run_id)
        assert moved.ask is not None
        clock.now += 60

        assert store.coordinator.permits(moved.ask.queue, 0, version="2") == []
        assert [ask.run_id for ask in store.coordinator.permits(moved.ask.queue, 0, version="1")] == [run_id]


@pytest.mark.parametrize(("what", "status"), [("cancel", "cancelled"), ("deadline", "failed")])
def test_a_run_that_is_to_end_does_not_depend_on_a_version_that_is_gone(
    store: Store, clock: Clock, what: str, status: str
) -> None:
    with Desk(store, _app("2"), version_policy="pinned") as new:
        given = NewRun(
            id=new_id("run"),
            task="desk",
            version="1",
            message={"content": "hello"},
            deadline=None if what == "cancel" else 1.0,
        )
        run, _ = store.tenant(DEFAULT_TENANT).submit(given)
        if what == "cancel":
            store.tenant(DEFAULT_TENANT).request_cancel(run.id)
        clock.now += 5  # its own version may still come to it
        assert store.coordinator.due_moves(version="2") == []
        assert not new.coordinator.move(run.id).run.ended

        clock.now += 10
        assert store.coordinator.due_moves(version="2") == [run.id]
        ended = new.coordinator.move(run.id).run

    assert (ended.status, ended.awaiting) == (status, None)
    assert store.inspector.events(run.id)[-1].type == f"run.{status}"


def test_a_run_says_which_version_it_waits_for(store: Store) -> None:
    def why(run: RunRecord) -> tuple[str, str]:
        found = why_waiting(store.inspector.situation(run.id, pinned=True))
        assert found is not None
        return found.kind, found.sentence

    with Desk(store, _app("2"), version_policy="pinned") as new:
        new.coordinator.start()
        run = store.inspector.run(_submit(store, "1"))
        kind, sentence = why(run)
        assert kind == "version"
        assert "pinned to version 1 of the application, and no living coordinator has it" in sentence
        with Desk(store, _app("1"), beside=new, version_policy="pinned") as old:
            old.coordinator.start()
            assert why(run)[0] == "move"
            old.coordinator.move(run.id)
            assert why(run)[0] == "llm"
            old.coordinator.stop()
        kind, sentence = why(run)
        assert kind == "version"
        assert "no living worker of the queue" in sentence
        new.coordinator.stop()


def _newer_wrote(store: Store, run_id: str, **fields: Any) -> None:
    """Let the states of the run have these fields, as if a newer Turnwise had moved it."""
    with store.coordinator.locked(run_id) as tx:
        for frame in tx.frames():
            tx.save_frame(frame.no, frame.state | fields)


def test_what_a_newer_turnwise_wrote_into_a_state_is_carried_along(store: Store) -> None:
    with Desk(store, _app("1"), moves="coordinator") as desk:
        run_id = _submit(store, "1")
        desk.answer(desk.coordinator.move(run_id))
        _newer_wrote(store, run_id, seen_by=["a", "b"], mood={"kind": "calm"})
        moved = desk.coordinator.move(run_id)
        with store.coordinator.locked(run_id) as tx:
            kept = [(frame.state["seen_by"], frame.state["mood"]) for frame in tx.frames()]
        assert desk.answer(moved)
        run = desk.go_on(run_id)

    assert kept == [(["a", "b"], {"kind": "calm"})]
    assert (run.status, (run.result or {})["content"]) == ("completed", "1 says")


def test_a_run_whose_state_only_a_newer_turnwise_can_read_waits_for_it(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Desk(store, _app("1"), moves="coordinator") as old,
        Desk(store, _app("1"), beside=old, moves="coordinator") as new,
    ):
        run_id = _submit(store, "1")
        old.answer(old.coordinator.move(run_id))
        _newer_wrote(store, run_id, version=2, stage="later")

        before = list(store.inspector.events(run_id))

        # an older process leaves it as it is, and looks again from time to time
        for _ in range(3):
            run = old.coordinator.move(run_id).run
            assert (run.status, kept(run.waiting_for)) == ("waiting", {"kind": "upgrade", "state": 2, "known": 1})
            assert store.coordinator.due_moves() == []
            clock.now += 10
            assert store.coordinator.due_moves() == [run_id]
        why = why_waiting(store.inspector.situation(run_id, pinned=False))
        assert why is not None
        assert why.kind == "upgrade"
        assert "start processes of the newer one, or finish the upgrade" in why.sentence
        assert list(store.inspector.events(run_id)) == before

        # a newer one goes on with what was answered
        monkeypatch.setattr(states, "STATE_VERSION", 2)
        run = new.go_on(run_id)

    assert (run.status, run.waiting_for, (run.result or {})["content"]) == ("completed", None, "1 says")


def test_a_newer_turnwise_finds_a_held_run_however_often_older_ones_come_first(store: Store, clock: Clock) -> None:
    with Desk(store, _app("1"), moves="coordinator") as desk:
        run_id = _submit(store, "1")
        desk.answer(desk.coordinator.move(run_id))
        _newer_wrote(store, run_id, version=2)
        for _ in range(3):  # older processes sweep right before newer ones
            clock.now += 10
            assert desk.coordinator.move(run_id).run.status == "waiting"
            assert store.coordinator.due_moves(state=1) == []
            assert store.coordinator.due_moves(state=2) == [run_id]
            assert store.coordinator.due_moves(state=3, version="1") == [run_id]
            assert store.coordinator.due_moves(state=3, version="2") == []


@pytest.mark.parametrize("what", ["cancel", "deadline"])
def test_a_run_that_is_to_end_does_not_wait_for_a_newer_turnwise_for_ever(
    store: Store, clock: Clock, what: str
) -> None:
    with Desk(store, _app("1"), moves="coordinator") as desk:
        run_id = _submit(store, "1") if what == "cancel" else desk.submit("desk", deadline=1.0)
        desk.answer(desk.coordinator.move(run_id))
        _newer_wrote(store, run_id, version=2)
        if what == "cancel":
            store.tenant(DEFAULT_TENANT).request_cancel(run_id)
        clock.now += 5  # a newer process may still come to it
        assert desk.coordinator.move(run_id).run.status == "waiting"
        clock.now += 10
        ended = desk.coordinator.move(run_id).run

    assert ended.status == ("cancelled" if what == "cancel" else "failed")
