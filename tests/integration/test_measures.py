"""Measures of time: stages of a turn by queue, tools, first turns, requests, and what lies around a process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.gateway_parts import served
from tests.support.served_parts import Desk
from tests.support.tcp_proxy import TcpProxy, address_in

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import RunNotice
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError
from turnwise.processes.metrics import Metrics, watch_broker, watch_database
from turnwise.record.database.database import Database
from turnwise.record.store import Store


def _app(fails: bool = False) -> App:
    app = App("measured", version="3")

    def double(number: int) -> int:
        """Double a number."""
        if fails:
            raise ValueError("too hard")
        return 2 * number

    tool = ToolMessage.from_function(double)

    @app.task
    def desk() -> Task:
        answers = iter(['{"request": "double", "number": 4}', "DONE 8"])
        agent = ChatAgent(
            ChatAgentConfig(name="Desk", llm=MockLMConfig(response_fn=lambda text: next(answers)), use_tools=True)
        )
        agent.enable_message(tool)
        return Task(agent, name="Desk", interactive=False)

    return app


Value = Callable[..., float]


def _reader(registry: CollectorRegistry) -> Value:
    def value(name: str, **labels: str) -> float:
        return registry.get_sample_value(f"turnwise_{name}", labels) or 0.0

    return value


@pytest.mark.parametrize("moves", ["worker", "coordinator"])
def test_each_stage_of_a_turn_is_measured_by_queue(store: Store, moves: str) -> None:
    with Desk(store, _app(), moves=moves) as desk:
        value = _reader(desk.metrics.registry)
        run = desk.go_on(desk.submit("desk"))
        while not run.ended:  # the worker that answered has asked already
            assert any(desk.responders.serve(f"{kind}-{desk.own}") for kind in ("llm", "agent"))
            run = store.inspector.run(run.id)

        assert run.status == "completed", run.error
        for stage in ("wait", "work", "move"):
            name = f"queue_{stage}_seconds_count"
            assert (value(name, queue=f"llm-{desk.own}"), value(name, queue=f"agent-{desk.own}")) == (2, 1), stage
        assert value("queue_move_seconds_count", queue="coordinator") == 1  # the first one
        assert value("first_turn_seconds_count", task="desk") == 1
        assert value("tool_duration_seconds_count", tool="double") == 1
        assert value("turn_overhead_seconds_bucket", le="600.0") == 3


def test_a_run_of_a_single_turn_has_a_first_one(store: Store) -> None:
    app = App("brief", version="1")

    @app.task
    def greet() -> Task:
        config = ChatAgentConfig(name="Greeter", llm=MockLMConfig(default_response="DONE hi"))
        return Task(ChatAgent(config), name="Greeter", interactive=False)

    with Desk(store, app) as desk:
        assert desk.go_on(desk.submit("greet")).status == "completed"
        assert _reader(desk.metrics.registry)("first_turn_seconds_count", task="greet") == 1


def test_a_tool_that_raises_is_measured_too(store: Store) -> None:
    with Desk(store, _app(fails=True)) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert run.status == "failed"
        assert _reader(desk.metrics.registry)("tool_duration_seconds_count", tool="double") == 1


def test_a_wait_that_nothing_is_known_of_is_not_measured(store: Store) -> None:
    with Desk(store, _app(), moves="coordinator") as desk:
        moved = desk.coordinator.move(desk.submit("desk"))
        assert moved.ask is not None
        worker = desk.responders._incarnation.current()
        assert worker is not None
        claim = store.worker.claim(moved.ask.queue, worker)
        assert claim is not None and store.worker.release(claim, "drained")
        assert desk.answer(moved)

        assert _reader(desk.metrics.registry)("queue_wait_seconds_count", queue=moved.ask.queue) == 0


def test_requests_are_counted_by_route_method_and_status(tmp_path: Path) -> None:
    with served(tmp_path) as gateway:

        def value(name: str, **labels: str) -> float:
            page = gateway.http.get("/metrics").text
            wanted = f"turnwise_{name}{{" + ",".join(f'{key}="{labels[key]}"' for key in sorted(labels)) + "} "
            return sum(float(line.removeprefix(wanted)) for line in page.splitlines() if line.startswith(wanted))

        assert 'turnwise_http_requests_total{method="POST",route="/v1/runs",status="5xx"} 0.0' in (
            gateway.http.get("/metrics").text
        )
        run = gateway.submit()
        gateway.http.get(f"/v1/runs/{run}")
        gateway.http.get("/v1/runs/run_nowhere")
        gateway.http.post("/v1/runs", json={"task": "desk", "message": ""})
        gateway.http.request("BREW", "/v1/runs")
        gateway.http.get(f"/v1/{run}/nothing")
        gateway.http.get("/health/live")

        assert value("http_requests_total", method="POST", route="/v1/runs", status="2xx") == 1
        assert value("http_requests_total", method="POST", route="/v1/runs", status="4xx") == 1
        assert value("http_requests_total", method="GET", route="/v1/runs/{run_id}", status="2xx") == 1
        assert value("http_requests_total", method="GET", route="/v1/runs/{run_id}", status="4xx") == 1
        assert value("http_requests_total", method="GET", route="unmatched", status="4xx") == 1
        assert value("http_request_duration_seconds_count", method="GET", route="/v1/runs/{run_id}") == 2
        page = gateway.http.get("/metrics").text
        assert "turnwise_run_acceptance_seconds_count 1.0" in page
        assert "BREW" not in page and run not in page and "/health" not in page


def test_who_is_refused_before_a_route_is_found_is_counted_under_it(tmp_path: Path) -> None:
    with served(tmp_path, auth="token", auth_token="secret-of-at-least-32-characters!") as gateway:
        assert gateway.http.get("/v1/runs/run_1").status_code == 401

        page = gateway.http.get("/metrics").text
    assert 'turnwise_http_requests_total{method="GET",route="/v1/runs/{run_id}",status="4xx"} 1.0' in page


def test_a_wait_for_a_connection_is_measured_and_one_that_was_in_vain_counted(tmp_path: Path) -> None:
    metrics = Metrics(CollectorRegistry())
    value = _reader(metrics.registry)
    database = Database(f"sqlite:///{tmp_path / 'turnwise.db'}", pool_size=1)
    try:
        database.pool.timeout = 0.05
        watch_database(metrics, database.pool)
        with database.read(), database.read():
            assert (value("database_connections_in_use"), value("database_connections_limit")) == (2, 2)
            with pytest.raises(DatabaseUnavailableError), database.read():
                pass
        with database.read():
            pass

        assert value("database_connections_in_use") == 0
        assert value("database_pool_timeouts_total") == 1
        assert value("database_pool_wait_seconds_count") == 1
    finally:
        database.close()


@pytest.mark.rabbitmq
@pytest.mark.timeout(60)
def test_a_broker_that_goes_away_and_comes_back_is_seen() -> None:
    metrics = Metrics(CollectorRegistry())
    value = _reader(metrics.registry)
    with fresh_rabbitmq() as url, TcpProxy(address_in(url)) as proxy:
        bus = CeleryBus(proxy.url(url))
        heard = threading.Event()
        listener = bus.listen(lambda notice: heard.set())
        try:
            assert listener.wait_ready(10)
            watch_broker(metrics, bus.connections)
            bus.notify(RunNotice(run="run_1", seq=1))
            until(lambda: value("broker_connected", connection="notify") == 1, "the publisher to be up")
            assert value("broker_connected", connection="listen") == 1
            assert value("broker_reconnects_total", connection="listen") == 0

            proxy.refuse()
            with pytest.raises(BrokerUnavailableError):
                bus.notify(RunNotice(run="run_1", seq=2))
            until(lambda: value("broker_connected", connection="listen") == 0, "the listener to be down")
            assert value("broker_connected", connection="notify") == 0

            proxy.heal()
            until(lambda: value("broker_reconnects_total", connection="listen") == 1, "the listener to be back")
            # nothing is published, and yet it is seen that it could be
            until(lambda: value("broker_connected", connection="notify") == 1, "the publisher to be back")
            assert value("broker_reconnects_total", connection="notify") == 1
        finally:
            bus.close()
