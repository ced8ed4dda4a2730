"""Events reach those who watch a run, over each bus, without a look into the record; no one else is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from tests.contract.brokers import broker
from tests.e2e.waiting import until
from tests.support.gateway_parts import Served, served
from tests.support.noting import noting
from tests.support.served_parts import Desk
from tests.support.services import migrated_postgres

from turnwise.api.events import EventView
from turnwise.bus.base import Bus
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import Notice, RunNotice, RunWatchNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.client import Client
from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import encode_document
from turnwise.processes.settings import load_settings
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun
from turnwise.serving.observer import Observer
from turnwise_coordinator.service import CoordinatorProcess

KINDS = [
    "in-process",
    pytest.param("rabbitmq", marks=pytest.mark.rabbitmq),
    pytest.param("redis", marks=pytest.mark.redis),
]
# A watcher that is not told waits for ever, where it would look into the record after 3 s.
_NEVER = 3600.0


@contextmanager
def _buses(kind: str) -> Iterator[tuple[Bus, Bus]]:
    if kind == "in-process":
        bus = InProcessBus()
        yield bus, bus
    else:
        with broker(kind) as url:
            yield CeleryBus(url), CeleryBus(url)


def _counted(bus: Bus, sent: list[Notice]) -> None:
    notify, tell = bus.notify, bus.tell

    def count_all(notice: Notice) -> None:
        sent.append(notice)
        notify(notice)

    def count_one(listener: str, notice: Notice) -> None:
        sent.append(notice)
        tell(listener, notice)

    bus.notify, bus.tell = count_all, count_one  # type: ignore[method-assign]


@contextmanager
def _installation(kind: str, folder: Path, sent: list[Notice], moves: str = "worker") -> Iterator[tuple[Served, Desk]]:
    """A gateway, and a process with a coordinator and responders; `sent` gets the notices of both."""
    with _buses(kind) as (for_gateway, for_worker):
        for bus in {id(bus): bus for bus in (for_gateway, for_worker)}.values():
            _counted(bus, sent)
        with served(folder, bus=for_gateway, app=noting(), poll_seconds=_NEVER) as gateway:
            store = Store(gateway.store.database)
            with Desk(store, noting(), bus=for_worker, observers=[Observer()], moves=moves) as desk:
                yield gateway, desk


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_no_one_watches_sends_no_notice(kind: str, tmp_path: Path) -> None:
    sent: list[Notice] = []
    with _installation(kind, tmp_path, sent) as (gateway, desk):
        run = desk.go_on(gateway.submit())
    assert run.status == "completed"
    assert sent == []


def _read_up_to(last: int, seen: list[int]) -> None:
    until(lambda: seen[-1:] == [last], f"the reader to be told of event {last}")


@pytest.mark.parametrize("kind", KINDS)
def test_who_reads_the_events_is_told_of_each_as_it_is_written(kind: str, tmp_path: Path) -> None:
    sent: list[Notice] = []
    seen: list[int] = []

    def read(client: Client, run_id: str) -> None:
        for event in client.events(run_id):
            if isinstance(event, EventView):
                seen.append(event.seq)

    with (
        _installation(kind, tmp_path, sent, moves="coordinator") as (gateway, desk),
        Client(gateway.base_url) as client,
    ):
        run_id = gateway.submit()
        reading = threading.Thread(target=read, args=(client, run_id))
        reading.start()
        _read_up_to(1, seen)
        # Nothing more is written before the reader has what was.
        while not (moved := desk.coordinator.move(run_id)).run.ended:
            _read_up_to(moved.run.last_seq, seen)
            assert desk.answer(moved)
            _read_up_to(desk.store.inspector.run(run_id).last_seq, seen)
        _read_up_to(moved.run.last_seq, seen)
        reading.join(30)
        assert not reading.is_alive()

    events = [notice for notice in sent if isinstance(notice, RunNotice)]
    assert {notice.run for notice in events} == {run_id}


@pytest.mark.parametrize("kind", KINDS)
def test_who_waits_for_the_end_is_told_of_it(kind: str, tmp_path: Path) -> None:
    ended: Queue[Any] = Queue()

    with _installation(kind, tmp_path, []) as (gateway, desk):

        def wait() -> None:
            ended.put(gateway.http.post("/v1/runs?wait=50", json={"task": "desk", "message": "hello"}).json())

        waiting = threading.Thread(target=wait)
        waiting.start()
        # The run may end before its announcement arrives: no one here looks whether it has.
        while not (runs := desk.store.inspector.table("runs")):
            threading.Event().wait(0.005)
        desk.go_on(runs[0]["id"])
        assert ended.get(timeout=30)["status"] == "completed"
        waiting.join(30)


@pytest.mark.postgres
@pytest.mark.rabbitmq
def test_a_coordinator_process_tells_watchers_of_its_moves() -> None:
    heard: list[Notice] = []
    with broker("rabbitmq") as url, migrated_postgres() as database:
        settings = load_settings(database_url=database, broker_url=url, app="turnwise.demo.app:app")
        switches: Any = SimpleNamespace(paused=lambda queue: False, told=lambda: "")
        process, bus = CoordinatorProcess(settings, switches), CeleryBus(url)
        try:
            listener = bus.listen(heard.append)
            assert listener.wait_ready(30)
            parts = process.parts
            message = encode_document(ChatDocument(content="hello"))
            new = NewRun(id="run_1", task=next(iter(parts.app.tasks)), version=parts.app.version, message=message)
            run, _ = parts.store.tenant(DEFAULT_TENANT).submit(new)
            moved = process.coordinator.move(run.id).run

            def told() -> list[Notice]:
                # As a gateway repeats it: the first may come before the process hears anything.
                bus.notify(RunWatchNotice(listener=listener.address, runs=[run.id], seconds=5))
                return heard

            until(told, "the coordinator to tell of its move")
        finally:
            bus.close()
            process.close()
    assert heard[0] == RunNotice(run=run.id, seq=moved.last_seq)
