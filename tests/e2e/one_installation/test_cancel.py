"""A run that is cancelled ends at once, whatever it waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.e2e.scenarios import Scenario
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise.client import Client
from turnwise.errors import ConflictError
from turnwise.testing.fake_llm.server import FakeLLMServer

_ENDLESS = Scenario(task="endless", status="cancelled", status_code="KILL")


def test_a_run_that_waits_for_a_human_can_be_cancelled(anywhere: Client) -> None:
    run_id = served.submit(anywhere, scenario_named("order"))
    asked = served.status_once(anywhere, run_id, "waiting")
    question = present(asked.waiting_for)["question"]
    anywhere.cancel(run_id)
    _assert_cancelled(anywhere, run_id)
    assert run_id not in [open_question.run for open_question in anywhere.inbox()]
    with pytest.raises(ConflictError):
        anywhere.answer(run_id, "blue", question=question)


@pytest.mark.parametrize("task", ["endless", "endless_below"])
def test_a_run_whose_model_is_thinking_can_be_cancelled(anywhere: Client, model: FakeLLMServer, task: str) -> None:
    thinking = model.stats()["in_flight"]
    run_id = served.submit(anywhere, replace(_ENDLESS, task=task))
    until(lambda: model.stats()["in_flight"] > thinking, "the model to be asked")
    anywhere.cancel(run_id)
    _assert_cancelled(anywhere, run_id)
    # The model's answer takes an hour; whoever waited for it has closed the connection.
    until(lambda: model.stats()["in_flight"] == thinking, "the call to be cut")


def test_a_deadline_ends_a_run_whose_model_is_thinking(anywhere: Client, model: FakeLLMServer) -> None:
    thinking = model.stats()["in_flight"]
    run_id = str(anywhere.submit("endless", "hello", deadline=2.0).id)
    until(lambda: model.stats()["in_flight"] > thinking, "the model to be asked")
    _assert_timed_out(anywhere, run_id)
    until(lambda: model.stats()["in_flight"] == thinking, "the call to be cut")


def test_a_deadline_ends_a_run_that_waits_for_a_human(anywhere: Client) -> None:
    order = scenario_named("order")
    run_id = str(anywhere.submit(order.task, order.message, deadline=4.0).id)
    served.status_once(anywhere, run_id, "waiting")
    _assert_timed_out(anywhere, run_id)
    assert run_id not in [open_question.run for open_question in anywhere.inbox()]


def test_a_run_that_has_ended_can_not_be_cancelled(anywhere: Client) -> None:
    silent = scenario_named("silent")
    run_id = served.submit(anywhere, silent)
    served.finish(anywhere, run_id, silent)
    with pytest.raises(ConflictError) as refused:
        anywhere.cancel(run_id)
    assert refused.value.code == "already_ended"


def _assert_timed_out(client: Client, run_id: str) -> None:
    events = served.follow(client, run_id)
    run = client.run(run_id)
    assert (run.status, run.status_code) == ("failed", "TIMEOUT")
    assert events[-1]["type"] == "run.failed"


def _assert_cancelled(client: Client, run_id: str) -> None:
    events = served.follow(client, run_id)
    run = client.run(run_id)
    assert (run.status, run.status_code) == ("cancelled", "KILL")
    assert events[-1]["type"] == "run.cancelled"
    assert run.waiting_for is None
