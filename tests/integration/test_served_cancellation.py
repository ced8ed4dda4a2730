"""Work of served runs that has no use any more is cut short, however that becomes known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.bus.envelope import AskEnvelope, CancelNotice
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import RunRecord
from turnwise.testing.fake_llm.server import FakeLLMServer

# What no test may wait for.
HOURS = 3_600.0
RULES: list[dict[str, Any]] = [{"match": "hello", "reply": "DONE at last", "delay": HOURS}]


@pytest.fixture
def model() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


def app_of(model: FakeLLMServer) -> App:
    app = App("tests")

    @app.task
    def desk() -> Task:
        llm = OpenAIGPTConfig(api_base=model.base_url, api_key=SecretStr("k"))
        top = Task(ChatAgent(ChatAgentConfig(name="top", llm=None)), interactive=False)
        top.add_sub_task(Task(ChatAgent(ChatAgentConfig(name="desk", llm=llm)), interactive=False))
        return top

    return app


class Working:
    """A run of a sub-task whose model is thinking, on a thread as a worker's."""

    def __init__(self, desk: Desk, model: FakeLLMServer, **limits: Any) -> None:
        self.desk, self.model = desk, model
        self.run_id = desk.submit("desk", **limits)
        ask = desk.coordinator.move(self.run_id).ask
        assert ask is not None
        self._thread = threading.Thread(target=desk.responders.answer, args=(ask,), daemon=True)
        self._thread.start()
        self.ask: AskEnvelope = ask
        until(lambda: model.stats()["in_flight"] == 1, "the model to be asked")

    def cut(self) -> RunRecord:
        """The run, once the work is cut short, the provider's connection is closed, and the next move is made."""
        until(lambda: self.model.stats()["in_flight"] == 0, "the call to be cut")
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.desk.coordinator.move(self.run_id).run

    def released(self) -> list[Any]:
        """Return the reason of the release."""
        return [
            e.data["reason"]
            for e in self.desk.store.inspector.events(self.run_id)
            if e.type == "ask.released" and e.data
        ]


def test_a_notice_of_cancellation_cuts_the_call(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        working = Working(desk, model)
        store.tenant(DEFAULT_TENANT).request_cancel(working.run_id)
        desk.bus.notify(CancelNotice(run=working.run_id))

        run = working.cut()

        assert (run.status, run.status_code) == ("cancelled", "KILL")
        assert working.released() == ["killed"]


def test_a_cancellation_of_which_no_notice_came_is_seen_in_the_record(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        working = Working(desk, model)
        store.tenant(DEFAULT_TENANT).request_cancel(working.run_id)

        assert working.cut().status == "cancelled"


def test_work_of_a_run_that_has_ended_is_only_kept_for_the_books(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        working = Working(desk, model)
        store.tenant(DEFAULT_TENANT).request_cancel(working.run_id)
        desk.coordinator.move(working.run_id)

        assert working.cut().status == "cancelled"
        assert working.released() == []
        assert desk.events(working.run_id)[-1] == "run.cancelled"


def test_a_worker_whose_work_was_taken_over_drops_it(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        working = Working(desk, model)
        assert [ask.run_id for ask in store.coordinator.take_over_all()] == [working.run_id]

        run = working.cut()

        # Nobody ended the run: the ask is there for the next worker.
        assert (run.status, working.released()) == ("running", [])
        open_ask = store.inspector.situation(working.run_id).ask
        assert open_ask is not None
        assert (open_ask.status, open_ask.attempts) == ("runnable", 1)


def test_a_run_ends_with_its_deadline_while_its_model_thinks(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        working = Working(desk, model, deadline=0.5)

        run = working.cut()

        assert (run.status, run.status_code) == ("failed", "TIMEOUT")
        assert working.released() == ["deadline"]


def test_an_ask_of_a_run_that_is_out_of_time_is_not_claimed(store: Store, model: FakeLLMServer) -> None:
    with Desk(store, app_of(model)) as desk:
        run_id = desk.submit("desk", deadline=0.2)
        asked = desk.coordinator.move(run_id)
        until(lambda: store.coordinator.due_moves(), "the deadline to be over")

        assert not desk.answer(asked)
        assert desk.coordinator.move(run_id).run.status_code == "TIMEOUT"
        assert model.stats()["requests"] == 0
