"""A process that is killed with -9 in the middle of a run costs time, and changes nothing that is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.e2e import served
from tests.e2e.expected import assert_same, expected, scenario_named
from tests.e2e.installation import Distributed, Embedded, Role
from tests.e2e.slow_call import SLOW, SlowCall
from tests.support.client_views import numbered

from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer


def test_a_worker_killed_during_its_model_call_is_replaced_by_another(
    distributed: Distributed, client: Client, model: FakeLLMServer
) -> None:
    call = SlowCall(model, client)
    killed, other = distributed.kill_and_replace("llm")
    assert_same(served.finish(client, call.run_id, SLOW), expected(SLOW))
    states = {worker.pid: worker.state for worker in client.workers()}
    assert states[killed] == "dead"
    assert states[other] == "alive"
    # The first answer was the killed one's, the rest came from the one that took over.
    assert answered_by(distributed, call.run_id, "llm") == [killed, other]


@pytest.mark.parametrize("role", ["coordinator", "gateway"])
def test_any_service_killed_in_mid_run_is_replaced_and_the_run_goes_on(
    role: Role, distributed: Distributed, client: Client, model: FakeLLMServer
) -> None:
    call = SlowCall(model, client)
    distributed.kill_and_replace(role)
    assert_same(served.finish(client, call.run_id, SLOW), expected(SLOW))


def test_all_services_killed_at_once_go_on_when_they_are_back(
    distributed: Distributed, client: Client, model: FakeLLMServer
) -> None:
    call = SlowCall(model, client)
    distributed.kill_and_replace_all()
    assert_same(served.finish(client, call.run_id, SLOW), expected(SLOW))


def test_three_processes_other_than_this_one_work_on_a_run(distributed: Distributed, client: Client) -> None:
    scenario = scenario_named("tool_loop")
    run_id = served.submit(client, scenario)
    served.finish(client, run_id, scenario)
    pids = {role: process.pid for role, process in distributed.processes.items()}
    assert answered_by(distributed, run_id, "llm") == [pids["llm"]]
    assert answered_by(distributed, run_id, "agent") == [pids["agent"]]
    assert len(set(pids.values())) == 4
    assert "turnwise_runs_started_total{" in distributed.processes["coordinator"].page("/metrics")


@pytest.fixture
def own_server(model: FakeLLMServer, tmp_path: Path) -> Iterator[Embedded]:
    """An embedded server that the test may kill."""
    server = Embedded(tmp_path)
    yield server
    server.stop()


def test_an_embedded_server_killed_in_mid_run_finishes_it_when_started_again(
    own_server: Embedded, model: FakeLLMServer
) -> None:
    with Client(own_server.url) as client:
        call = SlowCall(model, client)
        own_server.kill_and_restart()
        assert_same(served.finish(client, call.run_id, SLOW), expected(SLOW))


def test_a_question_survives_the_server_that_asked_it(own_server: Embedded) -> None:
    order = scenario_named("order")
    with Client(own_server.url) as client:
        run_id = served.submit(client, order)
        served.status_once(client, run_id, "waiting")
        own_server.kill_and_restart()
        assert [question.run for question in client.inbox()] == [run_id]
        assert_same(served.finish(client, run_id, order), expected(order))


def test_a_watcher_goes_on_where_it_was_when_the_gateway_is_back(own_server: Embedded, model: FakeLLMServer) -> None:
    with Client(own_server.url) as client:
        call = SlowCall(model, client)
        numbers = []
        for event in numbered(client.events(call.run_id)):
            numbers.append(event.seq)
            if len(numbers) == 3:
                own_server.kill_and_restart()
        assert numbers == list(range(1, client.run(call.run_id).last_event + 1))


def answered_by(distributed: Distributed, run_id: str, responder: str) -> list[int]:
    """The pids of those whose answers were accepted, in order, each named once in a row."""
    query = """
        SELECT workers.pid FROM replies
        JOIN asks ON asks.run_id = replies.run_id AND asks.id = replies.ask_id
        JOIN workers ON workers.id = replies.worker_id
        WHERE replies.run_id = %s AND replies.accepted AND asks.responder = %s ORDER BY replies.at
    """
    with psycopg.connect(distributed.settings["database_url"]) as connection:
        pids = [int(row[0]) for row in connection.execute(query, (run_id, responder))]
    return list(dict.fromkeys(pids))
