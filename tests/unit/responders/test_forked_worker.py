"""The probes of a prefork worker, by the rows of its children."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.store_parts import new_worker

from turnwise.processes.settings import ServiceSettings, load_settings
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise_responders.forked import Forked


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    """Of a worker that is deaf for long after 12 ms."""
    return load_settings(database_url=f"sqlite:///{tmp_path / 'record.db'}", deaf_seconds=0.001)


@pytest.fixture
def store(settings: ServiceSettings) -> Iterator[Store]:
    database = Database(settings.database_url)
    database.migrate()
    yield Store(database)
    database.close()


def child(store: Store, pid: int) -> str:
    """A child of this machine, which holds a lease."""
    info = WorkerInfo(kind="responders", queues=("agent",), host=socket.gethostname(), pid=pid, version="1")
    return store.process.register_worker(info)


def test_it_is_ready_when_a_child_of_its_own_holds_a_lease(store: Store, settings: ServiceSettings) -> None:
    worker = Forked(settings, lambda: [11, 12], lambda: True)
    new_worker(store, "agent")  # elsewhere
    child(store, 99)  # of another worker here

    assert worker.health() == (False, "no child of this worker holds a lease; is the database away?")
    child(store, 11)
    assert worker.health() == (True, "ok")
    assert worker.alive() == (True, "ok")


def test_it_is_not_ready_when_a_child_is_deaf(store: Store, settings: ServiceSettings) -> None:
    worker = Forked(settings, lambda: [11, 12], lambda: True)
    child(store, 11)
    store.process.note_deaf(child(store, 12), True)

    assert worker.health() == (False, "deaf: the broker brings nothing to 1 of 2 children (12)")


def test_it_says_that_it_is_not_ready_while_the_database_is_away(settings: ServiceSettings) -> None:
    away = settings.model_copy(update={"database_url": "postgresql://nobody@127.0.0.1:1/none"})
    worker = Forked(away, lambda: [11], lambda: True)

    ready, why = worker.health()

    assert not ready
    assert "does not answer" in why
    assert worker.alive() == (True, "ok")


@pytest.mark.parametrize(
    ("deaf", "answers", "alive"), [((11, 12), True, False), ((11, 12), False, True), ((12,), True, True)]
)
def test_a_restart_helps_only_where_no_child_hears_anything_for_long_and_the_broker_answers(
    store: Store, settings: ServiceSettings, deaf: tuple[int, ...], answers: bool, alive: bool
) -> None:
    rows = {pid: child(store, pid) for pid in (11, 12)}
    for pid in deaf:
        store.process.note_deaf(rows[pid], True)
    worker = Forked(settings, lambda: [11, 12], lambda: answers)

    assert worker.alive() == (True, "ok")  # not for long yet
    _beat_for(store, 0.05)

    assert worker.alive()[0] is alive


def _beat_for(store: Store, seconds: float) -> None:
    """Let the children beat until that is so long after they began."""
    while any(one.beat_at - one.started_at < seconds for one in store.monitor.workers()):
        for one in store.monitor.workers():
            store.process.beat(one.id)
