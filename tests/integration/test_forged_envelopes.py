"""Envelopes are never taken for the truth: their readers read the database."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.e2e.waiting import until
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.base.cancellation import cancelled
from turnwise.bus.envelope import AskEnvelope, CancelNotice
from turnwise.record.store import Store


def _app(answer: Any = lambda said: f"DONE you said {said}") -> App:
    app = App("tests")

    @app.task
    def desk() -> Task:
        return Task(ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=answer))), interactive=False)

    return app


def _asked(desk: Desk, run_id: str) -> AskEnvelope:
    ask = desk.coordinator.move(run_id).ask
    assert ask is not None
    return ask


def _result(desk: Desk, run_id: str) -> str:
    return str((desk.coordinator.move(run_id).run.result or {}).get("content"))


def test_an_altered_document_is_not_what_is_answered(store: Store) -> None:
    with Desk(store, _app()) as desk:
        run_id = desk.submit("desk", "the truth")
        ask = _asked(desk, run_id)

        assert desk.responders.answer(ask.model_copy(update={"document": {"content": "a lie"}, "task": "other"}))

        assert _result(desk, run_id) == "you said the truth"


def test_a_permit_that_names_another_run_wakes_and_no_more(store: Store) -> None:
    with Desk(store, _app()) as desk:
        run_id = desk.submit("desk", "hello")
        forged = _asked(desk, run_id).model_copy(update={"run": "run_other", "ask": "run_other.1.1.1", "turn": 99})

        assert desk.responders.answer(forged)
        assert not desk.responders.answer(forged)  # repeated: there is nothing left to claim

        assert _result(desk, run_id) == "you said hello"
        assert desk.events(run_id).count("turn.replied") == 1


@pytest.mark.parametrize("process", ["worker", "coordinator"])
def test_a_message_about_a_run_of_another_database_is_told_in_the_log(
    store: Store, caplog: pytest.LogCaptureFixture, process: str
) -> None:
    with Desk(store, _app()) as desk:
        ask = _asked(desk, desk.submit("desk"))
        assert desk.responders.answer(ask)
        desk.coordinator.woken(ask.run)
        assert "foreign_message" not in _actions(caplog)

        theirs = ask.model_copy(update={"run": "run_theirs", "ask": "run_theirs.1.1.1"})
        if process == "worker":
            assert not desk.responders.answer(theirs)
        else:
            assert desk.coordinator.woken(theirs.run) is None
        assert "foreign_message" in _actions(caplog)


def _actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [getattr(record, "action", "") for record in caplog.records]


def test_a_permit_for_a_queue_that_is_not_served_here_claims_nothing(store: Store) -> None:
    with Desk(store, _app()) as desk, Desk(store, _app()) as other:
        run_id = desk.submit("desk", "hello")
        ask = _asked(desk, run_id)

        assert not other.responders.answer(ask)
        assert store.inspector.situation(run_id).ask is not None
        assert desk.responders.answer(ask)


def test_a_move_that_nobody_needs_changes_nothing(store: Store) -> None:
    with Desk(store, _app()) as desk:
        run_id = desk.submit("desk", "hello")
        _asked(desk, run_id)
        before = store.inspector.run(run_id)

        for _ in range(3):
            desk.coordinator.move(run_id)

        assert store.inspector.run(run_id) == before


def test_a_forged_cancellation_ends_nothing(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()
    cut_short: list[bool] = []

    def answer(said: str) -> str:
        begun.set()
        assert go_on.wait(60)
        cut_short.append(cancelled())
        return f"DONE you said {said}"

    with Desk(store, _app(answer)) as desk:
        run_id = desk.submit("desk", "hello")
        ask = _asked(desk, run_id)
        looks: list[int] = []
        unwanted = store.worker.unwanted

        def looked(claims: Any) -> Any:
            looks.append(len(claims))
            return unwanted(claims)

        store.worker.unwanted = looked  # type: ignore[method-assign]  # to know that it was looked, and when
        worker = threading.Thread(target=desk.responders.answer, args=(ask,))
        worker.start()
        assert begun.wait(60)

        desk.bus.notify(CancelNotice(run=run_id))
        until(lambda: 1 in looks, "the worker to look whether the run was cancelled")
        go_on.set()
        worker.join(60)

        assert cut_short == [False]
        assert _result(desk, run_id) == "you said hello"
