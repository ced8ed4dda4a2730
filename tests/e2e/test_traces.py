"""Traces of an installation whose processes send them to a collector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.e2e.installation import Distributed, distributed_on
from tests.e2e.scenarios import Scenario
from tests.e2e.slow_call import SLOW, SlowCall
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.telemetry import Collector, SeenSpan, connected

from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq]


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.environment.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(scope="module")
def traced(
    model: FakeLLMServer, collector: Collector, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Distributed]:
    """Four processes that send what they see to the collector."""
    with distributed_on(fresh_rabbitmq, tmp_path_factory.mktemp("traced")) as installation:
        yield installation


@pytest.fixture
def client(traced: Distributed) -> Iterator[Client]:
    with Client(traced.url) as made:
        yield made


def spans_of(collector: Collector, run_id: str) -> list[SeenSpan]:
    """All spans of the traces that the run left, once its last one has come, and those around it."""

    def look() -> list[SeenSpan] | None:
        spans = _whole(collector, run_id)
        return spans if any(span.name.startswith("invoke_workflow") for span in spans) else None

    return until(look, f"the spans of {run_id}")


def movers_told(collector: Collector, run_id: str, count: int) -> bool:
    """Return whether so many processes have told of moves of the run, and of what those are within."""
    movers = {span.process for span in _whole(collector, run_id) if span.name.startswith("move")}
    return len(movers) >= count


def _whole(collector: Collector, run_id: str) -> list[SeenSpan]:
    """All spans that have come of the run's traces, none while there are some whose parents have not come."""
    seen = collector.spans()
    traces = {span.trace for span in seen if span.attributes.get("turnwise.run") == run_id}
    spans = [span for span in seen if span.trace in traces]
    ids = {span.id for span in spans}
    return spans if all(not span.parent or span.parent in ids for span in spans) else []


def played(client: Client, scenario: Scenario) -> str:
    run_id = served.submit(client, scenario)
    served.finish(client, run_id, scenario)
    return run_id


def test_a_run_over_three_processes_is_one_trace(client: Client, collector: Collector, traced: Distributed) -> None:
    spans = spans_of(collector, played(client, scenario_named("api_loop")))

    assert len({span.trace for span in spans}) == 1
    assert by_service(spans) == {
        "turnwise-gateway": {"POST", "move", "send"},
        "turnwise-responders": _RESPONDERS,
    }
    assert len({span.process for span in spans}) == 3
    assert within(spans) == _WITHIN
    chat = next(span for span in spans if span.name.startswith("chat") and not span.failed)
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0
    assert chat.attributes["server.address"] == "127.0.0.1"
    until(lambda: collector.metrics() >= _METRICS, "the metrics of all processes")


def test_a_run_whose_first_move_is_left_to_a_coordinator_is_one_trace(
    client: Client, collector: Collector, traced: Distributed
) -> None:
    scenario = scenario_named("api_loop")
    run_id = str(client.submit(scenario.task, scenario.message, watch=True).id)
    served.finish(client, run_id, scenario)

    spans = spans_of(collector, run_id)

    assert len({span.trace for span in spans}) == 1
    assert by_service(spans) == {
        "turnwise-gateway": {"POST", "send"},
        "turnwise-coordinator": {"move", "send"},
        "turnwise-responders": _RESPONDERS,
    }
    assert len({span.process for span in spans}) == 4
    assert within(spans) == _WITHIN | {("send", "POST")}


def by_service(spans: list[SeenSpan]) -> dict[str, set[str]]:
    """The first words of the spans' names, of each service."""
    return {one: {span.name.split()[0] for span in spans if span.service == one} for one in {s.service for s in spans}}


def within(spans: list[SeenSpan]) -> set[tuple[str, str]]:
    """The first word of each span's name that has a parent, with that of its parent."""
    named = {span.id: span for span in spans}
    return {(span.name.split()[0], named[span.parent].name.split()[0]) for span in spans if span.parent}


_RESPONDERS = {"invoke_agent", "chat", "execute_tool", "move", "send", "invoke_workflow"}
_WITHIN = {
    ("move", "POST"),
    ("send", "move"),
    ("send", "invoke_agent"),
    ("invoke_agent", "move"),
    ("chat", "invoke_agent"),
    ("execute_tool", "invoke_agent"),
    ("invoke_workflow", "POST"),
}
_METRICS = {
    "http.server.request.duration",
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
    "gen_ai.workflow.duration",
}


def test_a_run_whose_worker_was_killed_stays_connected(
    traced: Distributed, client: Client, model: FakeLLMServer, collector: Collector
) -> None:
    call = SlowCall(model, client)
    # A killed process takes with it what it has not told, and what was asked within that would have no parent.
    until(lambda: movers_told(collector, call.run_id, 3), "gateway and workers to tell of their moves")
    traced.kill_and_replace("llm")
    served.finish(client, call.run_id, SLOW)

    spans = spans_of(collector, call.run_id)

    # On a slow machine the take-over may come after more than a minute, and is linked then.
    assert connected(spans)
    # What the killed one was at it could not tell; what took over says so.
    answers = [span for span in spans if span.attributes.get("turnwise.responder") == "llm"]
    assert {span.attributes["turnwise.attempt"] for span in answers} >= {1, 2}


def test_what_follows_a_humans_answer_is_a_trace_that_is_linked_to_the_question(
    client: Client, collector: Collector
) -> None:
    spans = spans_of(collector, played(client, scenario_named("order")))

    begun = {span.name for span in spans if not span.parent}
    assert begun == {"POST /v1/runs", "POST /v1/runs/{run_id}/messages"}
    assert len({span.trace for span in spans}) == 3  # two answers
    assert connected(spans)
