"""Celery's remote control: each command works or is refused with a word, and every process lives on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import side_effects
from tests.e2e.installation import Distributed, distributed_on
from tests.e2e.processes import Process, environment, free_port
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq, fresh_redis

from turnwise.bus.worker.celery_app import make_celery
from turnwise.client import Client

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(400)]
_BROKERS = {"rabbitmq": fresh_rabbitmq, "redis": fresh_redis}
KINDS = [pytest.param("rabbitmq", marks=pytest.mark.rabbitmq), pytest.param("redis", marks=pytest.mark.redis)]
TASK = "turnwise.answer"

# Each with arguments as somebody might send them, and what every process replies: that it is done, or why not.
COMMANDS: list[tuple[str, dict[str, Any], str]] = [
    ("add_consumer", {"queue": "llm-tpyo"}, "serves no queue"),
    ("add_consumer", {"queue": "celery", "exchange": "celery", "exchange_type": "direct"}, "serves no queue"),
    ("add_consumer", {"queue": ["llm"]}, "name of a queue"),
    ("add_consumer", {}, "missing"),
    ("cancel_consumer", {"queue": "llm-tpyo"}, "does not consume"),
    ("revoke", {"task_id": "1", "terminate": True, "signal": "SIGKILL"}, "turnwise cancel"),
    ("terminate", {"task_id": "1", "signal": "SIGKILL"}, "turnwise cancel"),
    ("revoke_by_stamped_headers", {"headers": {"a": ["b"]}, "terminate": True}, "turnwise cancel"),
    ("rate_limit", {"task_name": TASK, "rate_limit": "1/h"}, "provider"),
    ("time_limit", {"task_name": TASK, "soft": 0.001, "hard": 0.001}, "deadline"),
    ("pool_grow", {"n": 2}, "prefork"),
    ("pool_shrink", {"n": 99}, "prefork"),
    ("pool_restart", {"reload": True}, "not supported"),
    ("autoscale", {"max": 5, "min": 1}, "--autoscale"),
    ("election", {"id": "1", "topic": "x"}, "not supported"),
    ("hello", {"from_node": "stranger@host", "revoked": {"1": 1}}, "not supported"),
    ("objgraph", {}, "not supported"),
    ("no_such_command", {"a": 1}, "no such command"),
    ("enable_events", {}, "ok"),
    ("heartbeat", {}, ""),
    ("disable_events", {}, "ok"),
    ("ping", {}, "pong"),
    ("stats", {}, "pool"),
    ("active_queues", {}, "turnwise"),
    ("registered", {}, "turnwise"),
    ("active", {}, ""),
    ("reserved", {}, ""),
    ("scheduled", {}, ""),
    ("revoked", {}, ""),
    ("conf", {}, "broker"),
    ("report", {}, "ok"),
    ("clock", {}, "clock"),
    ("query_task", {"ids": ["1"]}, ""),
    ("memsample", {}, ""),
]


@pytest.fixture(scope="module", params=KINDS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributed]:
    folder = tmp_path_factory.mktemp("control")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(side_effects.FOLDER, str(folder))
        app = "tests.e2e.side_effects:app"
        with distributed_on(_BROKERS[request.param], folder, app, deaf_seconds="0.5") as made:
            yield made


@pytest.fixture
def client(installation: Distributed) -> Iterator[Client]:
    with Client(installation.url) as made:
        yield made


def _workers(installation: Distributed) -> list[Process]:
    return [installation.processes[role] for role in ("coordinator", "llm", "agent")]


def _broadcast(installation: Distributed, command: str, arguments: dict[str, Any], wanted: int = 3) -> dict[str, Any]:
    """Send the command; return the reply of each process."""
    control = make_celery("probe", installation.broker, []).control

    def replies() -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for one in control.broadcast(command, arguments=arguments, reply=True, timeout=10, limit=wanted) or []:
            found |= one
        return found if len(found) == wanted else None

    return until(replies, f"{wanted} replies to {command}")


def _submit(client: Client, name: str) -> str:
    """Submit a run that needs each of the queues: it begins with a coordinator's move."""
    return str(client.submit("ruled_clerk", f"please look {name}").id)


def test_every_command_is_answered_and_no_process_ends(installation: Distributed, client: Client) -> None:
    for command, arguments, expected in COMMANDS:
        for name, reply in _broadcast(installation, command, arguments).items():
            assert expected in str(reply), (command, name, reply)
            refused = isinstance(reply, dict) and "error" in reply
            logged = next(one for one in _workers(installation) if f"-{one.pid}@" in name).output()
            assert "Traceback" not in logged, (command, logged[-3000:])
            if refused:
                assert re.search(rf"{command}.* refused", logged), (command, logged[-3000:])
    assert all(process.running for process in _workers(installation))
    status_once(client, _submit(client, "afterwards"), "completed")


@pytest.mark.parametrize("queue", ["llm", "agent", "coordinator"])
def test_a_queue_is_added_to_those_alone_that_serve_it(installation: Distributed, client: Client, queue: str) -> None:
    for name, reply in _broadcast(installation, "add_consumer", {"queue": queue}).items():
        pid = installation.processes[queue].pid  # type: ignore[index]
        assert list(reply) == (["ok"] if f"-{pid}@" in name else ["error"]), (name, reply)
    status_once(client, _submit(client, f"added-{queue}"), "completed")
    assert all(process.running for process in _workers(installation))


@pytest.mark.parametrize("queue", ["agent", "coordinator"])
def test_a_cancelled_queue_rests_until_it_is_added_again(installation: Distributed, client: Client, queue: str) -> None:
    process = installation.processes[queue]  # type: ignore[index]
    _broadcast(installation, "cancel_consumer", {"queue": queue})
    run = _submit(client, f"paused-{queue}")
    # Ten times as long as after which a process with room would take up what waits, and say that it is deaf.
    ready = [process.readiness() for _ in _every_half_second(10)]
    shown = client.run(run)
    assert shown.status != "completed", shown
    assert {status for status, _ in ready} == {200}, ready
    assert "paused" in ready[-1][1]
    assert {worker.state for worker in client.workers() if worker.pid == process.pid} == {"alive"}

    _broadcast(installation, "add_consumer", {"queue": queue})

    status_once(client, run, "completed")
    assert process.readiness() == (200, "ok\n")


def _every_half_second(times: int) -> Iterator[int]:
    for n in range(times):
        yield n
        with pytest.raises(TimeoutError):
            until(lambda: None, "half a second", patience=0.5)


def test_the_children_of_a_prefork_worker_rest_as_well(
    installation: Distributed, client: Client, tmp_path: Path
) -> None:
    installation.processes["agent"].stop()
    port = free_port()
    env = environment(**installation.settings, metrics_bind=f"127.0.0.1:{port}")
    arguments = ["worker", "-Q", "agent", "--pool", "prefork", "--concurrency", "1"]
    process = Process(arguments, env, f"http://127.0.0.1:{port}", tmp_path / "prefork.log")
    installation.processes["agent"] = process
    try:
        process.wait_ready()
        name = next(name for name in _broadcast(installation, "ping", {}) if f"-{process.pid}@" in name)
        control = make_celery("probe", installation.broker, []).control

        def said(command: str, **arguments: Any) -> str:
            given: dict[str, Any] = {"arguments": arguments, "destination": [name]}
            return str(control.broadcast(command, reply=True, timeout=10, limit=1, **given))

        assert "no longer consuming" in said("cancel_consumer", queue="agent")
        # A child that is forked later rests, too, and serves the queue when it is added again.
        assert "will grow" in said("pool_grow", n=1)
        run = _submit(client, "forked")
        ready = [process.readiness() for _ in _every_half_second(10)]
        # On a loaded machine a child's lease may run out for a moment; deaf is what rest must not be taken for.
        assert not [text for _, text in ready if "deaf" in text], ready
        assert client.run(run).status != "completed"
        assert "expected a number from 1 to 1" in said("pool_shrink", n=2)
        assert "will shrink" in said("pool_shrink", n=1)
        assert "--autoscale" in said("autoscale", max=2, min=1)
        said("add_consumer", queue="agent")
        status_once(client, run, "completed")
    finally:
        process.stop()
        installation.launch("agent").wait_ready()


def test_shutdown_ends_a_process_in_good_order(installation: Distributed, client: Client) -> None:
    process = installation.processes["agent"]
    name = next(name for name in _broadcast(installation, "ping", {}) if f"-{process.pid}@" in name)
    control = make_celery("probe", installation.broker, []).control
    control.broadcast("shutdown", destination=[name], reply=True, timeout=10, limit=1)
    until(lambda: process.exit_code is not None, "the worker to end")
    assert process.exit_code == 0, process.output()[-2000:]
    installation.launch("agent").wait_ready()
    status_once(client, _submit(client, "after-the-shutdown"), "completed")
