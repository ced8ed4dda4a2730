"""Processes that live and hear nothing: work goes on, and they say what is wrong with them."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kombu.connection import Connection
from kombu.messaging import Consumer
from tests.e2e import side_effects
from tests.e2e.installation import Distributed, Role, distributed_on
from tests.e2e.processes import Process, environment, free_port
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.tcp_proxy import TcpProxy, address_in

from turnwise.bus.broker.topology import work_queue
from turnwise.client import Client

# Each finds its work by looking, several times over, which takes its time.
pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(400)]
APP = "tests.e2e.side_effects:app"


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributed]:
    folder = tmp_path_factory.mktemp("deaf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(side_effects.FOLDER, str(folder))
        with distributed_on(fresh_rabbitmq, folder, APP, deaf_seconds="0.5") as made:
            yield made


@pytest.fixture
def client(installation: Distributed) -> Iterator[Client]:
    with Client(installation.url) as made:
        yield made


def _work(client: Client, name: str) -> None:
    """A run that needs the model, a handler and several moves, the first one by a coordinator."""
    run = client.submit("ruled_clerk", f"please look {name}").id
    status_once(client, str(run), "completed")


def _work_until_deaf(client: Client, process: Process) -> None:
    for n in range(20):
        if process.readiness()[0] == 503:
            break
        _work(client, f"deaf{n}")
    status, why = process.readiness()
    assert (status, why[:5]) == (503, "deaf:"), process.output()[-3000:]


@contextmanager
def _nothing_comes_from(installation: Distributed, queue: str) -> Iterator[None]:
    """A consumer that RabbitMQ prefers takes all messages of the queue, so that the queue's process gets none."""
    named = work_queue(queue, quorum=True)
    named.consumer_arguments = {"x-priority": 10}  # type: ignore[attr-defined]
    stopping, begun = threading.Event(), threading.Event()

    def take() -> None:
        with (
            Connection(installation.broker) as connection,
            Consumer(connection.channel(), queues=[named], on_message=lambda _: None, no_ack=True),
        ):
            begun.set()
            while not stopping.is_set():
                with suppress(TimeoutError):
                    connection.drain_events(timeout=0.1)

    thread = threading.Thread(target=take, name="thief", daemon=True)
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        stopping.set()
        thread.join()


@pytest.mark.parametrize(("role", "queue"), [("agent", "agent"), ("coordinator", "coordinator")])
def test_a_process_that_hears_nothing_works_on_and_says_that_it_is_deaf(
    installation: Distributed, client: Client, role: Role, queue: str
) -> None:
    process = installation.processes[role]
    _work(client, "before")
    assert process.readiness()[0] == 200

    def states() -> set[str]:
        return {worker.state for worker in client.workers() if worker.pid == process.pid}

    with _nothing_comes_from(installation, queue):
        _work_until_deaf(client, process)
        until(lambda: states() == {"deaf"}, "the fleet to show it")
        assert process.page("/health/live") == "ok\n"

    def healed() -> bool:
        _work(client, "after")
        return process.readiness()[0] == 200 and states() == {"alive"}

    until(healed, "it to hear again")


def test_a_worker_behind_a_connection_that_swallows_everything_works_on(
    installation: Distributed, client: Client, tmp_path: Path
) -> None:
    direct = installation.settings["broker_url"]
    installation.processes["agent"].stop()
    with TcpProxy(address_in(direct)) as proxy:
        installation.settings["broker_url"] = proxy.url(direct)
        process = installation.launch("agent")
        process.wait_ready()
        _work(client, "heard")
        proxy.swallow()
        _work_until_deaf(client, process)
        process.kill()
    installation.settings["broker_url"] = direct
    installation.launch("agent").wait_ready()


def test_a_prefork_worker_tells_that_its_children_hear_nothing(
    installation: Distributed, client: Client, tmp_path: Path
) -> None:
    installation.processes["agent"].stop()
    port = free_port()
    env = environment(**installation.settings, metrics_bind=f"127.0.0.1:{port}")
    arguments = ["worker", "-Q", "agent", "--pool", "prefork", "--concurrency", "1"]
    process = Process(arguments, env, f"http://127.0.0.1:{port}", tmp_path / "prefork.log")
    try:
        process.wait_ready()
        _work(client, "forked")
        assert process.readiness()[0] == 200
        with _nothing_comes_from(installation, "agent"):
            _work_until_deaf(client, process)

            assert process.page("/health/live") == "ok\n"
            assert "1 of 1 children" in process.readiness()[1]
    finally:
        process.stop()
        installation.launch("agent").wait_ready()
