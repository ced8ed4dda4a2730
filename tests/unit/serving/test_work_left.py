"""Messages whose work the surroundings do not allow."""

from __future__ import annotations

import logging
import threading

import pytest

from turnwise.bus.envelope import MoveEnvelope, Work
from turnwise.bus.in_process import InProcessBus
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.bus.worker.celery_app import make_celery, task
from turnwise.errors import DatabaseUnavailableError

AWAY = DatabaseUnavailableError("the database does not answer; start PostgreSQL")


def test_a_worker_says_in_one_line_that_the_database_is_away(caplog: pytest.LogCaptureFixture) -> None:
    app = make_celery("test", "redis://127.0.0.1:1/0", [COORDINATOR_QUEUE])

    @task(app, "turnwise.move")
    def move(_data: object) -> None:
        raise AWAY

    with caplog.at_level(logging.INFO):
        assert app.tasks["turnwise.move"].apply([{}]).successful()

    (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.getMessage() == f"A message of kind turnwise.move is left to a sweep: {AWAY}"
    assert line.exc_info is None


def test_a_mistake_is_not_taken_for_an_outage() -> None:
    app = make_celery("test", "redis://127.0.0.1:1/0", [COORDINATOR_QUEUE])

    @task(app, "turnwise.move")
    def move(_data: object) -> None:
        raise KeyError("mistake")

    result = app.tasks["turnwise.move"].apply([{}])
    assert isinstance(result.result, KeyError)
    assert "KeyError: 'mistake'" in result.traceback


def test_the_embedded_server_says_so_as_well_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    bus, came = InProcessBus(), threading.Semaphore(0)

    def handle(_work: Work) -> None:
        came.release()
        raise AWAY

    consumption = bus.consume([COORDINATOR_QUEUE], handle, threads=1)
    for run in ("run_1", "run_2"):
        bus.wake(run)
        assert came.acquire(timeout=10)
    consumption.stop()
    bus.close()

    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    kind = MoveEnvelope(run="run_1").kind
    assert [line.getMessage() for line in lines] == [f"A message of kind {kind} is left to a sweep: {AWAY}"] * 2
    assert all(line.exc_info is None for line in lines)
