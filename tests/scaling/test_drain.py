"""A worker that is told to end ends what it is at, and leaves the rest to others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.installation import Installation
from tests.e2e.processes import Process
from tests.e2e.waiting import until

from turnwise.record.tenants.tenant import DEFAULT_TENANT

# A worker's start takes seconds, and many of them on a loaded machine.
pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(300)]

_WORKER = ("worker", "-Q", "llm,agent", "--concurrency", "3")


def asks_of(installed: Installation, runs: set[str]) -> list[dict[str, Any]]:
    return [ask for ask in installed.parts.store.inspector.table("asks") if ask["run_id"] in runs]


def states(installed: Installation, runs: set[str]) -> list[str]:
    return sorted(ask["status"] for ask in asks_of(installed, runs))


def begun(installed: Installation, worker: Process, conversations: int, latency: float) -> set[str]:
    """Runs of one call each, three of which the worker is at."""
    runs = {installed.submit(0, latency) for _ in range(conversations)}
    worker.wait_ready()
    until(lambda: states(installed, runs) == ["leased"] * 3 + ["runnable"] * (conversations - 3), "three claims")
    until(lambda: installed.model_counts()["in_flight"] == 3, "three calls")
    return runs


def ended(worker: Process) -> int | None:
    until(lambda: not worker.running, f"`{worker.name}` to end")
    return worker.exit_code


def test_calls_in_flight_are_ended_and_no_more_are_begun(installed: Installation) -> None:
    counts = installed.model_counts()
    worker = installed.start(*_WORKER, deaf_seconds="0.5")
    # Longer than the silence after which a worker looks for work by itself, and than it may take to look at all three.
    runs = begun(installed, worker, 8, latency=6)

    worker.terminate()
    assert ended(worker) == 0
    assert [state for state in states(installed, runs) if state in ("leased", "runnable")] == ["runnable"] * 5

    other = installed.start(*_WORKER[:-1], "5")
    until(lambda: not installed.parts.store.monitor.active_runs(), "the others to be answered")
    other.terminate()
    assert [ask["attempts"] for ask in asks_of(installed, runs)] == [1] * 8
    after = installed.model_counts()
    assert (after["requests"] - counts["requests"], after["hung_up"] - counts["hung_up"]) == (8, 0)


def test_what_takes_longer_than_the_limit_is_given_back(installed: Installation) -> None:
    counts = installed.model_counts()
    worker = installed.start(*_WORKER, drain_seconds="0.3")
    runs = begun(installed, worker, 3, latency=60)

    worker.terminate()
    assert ended(worker) == 0
    assert "TURNWISE_DRAIN_SECONDS" in worker.output()
    assert states(installed, runs) == ["runnable"] * 3
    until(lambda: installed.model_counts()["hung_up"] - counts["hung_up"] == 3, "the model to see it")
    store = installed.parts.store
    told = [event.data for run in runs for event in store.inspector.events(run) if event.type == "ask.released"]
    assert [data and data["reason"] for data in told] == ["drained"] * 3
    for run in runs:
        store.tenant(DEFAULT_TENANT).request_cancel(run)
        installed.parts.bus.wake(run)
    until(lambda: not store.monitor.active_runs(), "the runs to be cancelled")


def test_a_worker_that_is_still_starting_ends_at_once(installed: Installation) -> None:
    worker = installed.start(*_WORKER)
    worker.terminate()
    assert ended(worker) in (0, -15)  # -15: it had not come as far as listening


def test_children_of_a_worker_come_and_go_with_the_messages_in_hand(installed: Installation) -> None:
    counts = installed.model_counts()
    arguments = ["worker", "-Q", "llm,agent", "--pool", "prefork", "--autoscale=3,1"]
    worker = installed.start(*arguments, also={"AUTOSCALE_KEEPALIVE": "1"})
    worker.wait_ready()
    until(lambda: len(children(worker)) == 1, "the one child to begin with")

    runs = {installed.submit(2, 0.5) for _ in range(12)}
    until(lambda: len(children(worker)) == 3, "three children")
    until(lambda: not installed.parts.store.monitor.active_runs(), "the runs to end")
    until(lambda: len(children(worker)) == 1, "one child again")

    assert [ask["attempts"] for ask in asks_of(installed, runs)] == [1] * 36
    after = installed.model_counts()
    assert (after["requests"] - counts["requests"], after["hung_up"] - counts["hung_up"]) == (24, 0)
    worker.terminate()
    assert ended(worker) == 0


@pytest.mark.parametrize("command", [["turnwise.cli.main"], ["celery", "-A", "turnwise_responders.celery_app"]])
def test_a_pool_of_threads_can_not_be_scaled_so(installed: Installation, command: list[str], tmp_path: Path) -> None:
    scaled = ["worker", "--pool", "threads", "-Q", "llm", "--autoscale=10,2"]
    done = subprocess.run(
        [sys.executable, "-m", *command, *scaled],
        env=installed.environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 2
    assert "--autoscale changes the number of prefork children" in done.stderr


def children(worker: Process) -> list[str]:
    """Numbers of the processes that a worker has forked."""
    return Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
