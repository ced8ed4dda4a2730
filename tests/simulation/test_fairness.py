"""Four threads that one tenant's long loops share with another's short runs, in simulated time: who waits how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.simulation.priced import PricedLMConfig

from turnwise import App, ChatAgent, ChatAgentConfig, Task, ToolMessage
from turnwise.base.garbage import collections_paused
from turnwise.base.ids import ids_from, new_id
from turnwise.bus.envelope import MoveEnvelope
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import encode_document
from turnwise.processes.settings import ServiceSettings
from turnwise.record.store import Store
from turnwise.record.values.records import NewRun
from turnwise.testing import models
from turnwise.testing.simulator.faults import QUIET
from turnwise.testing.simulator.fleet import Fleet
from turnwise.testing.simulator.simulation import Installation
from turnwise.testing.simulator.world import World

_SLICE = 1.0
_LOOPS = 50
pytestmark = pytest.mark.timeout(600)

app = App("shares", version="1")


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note something down."
    n: int

    def handle(self) -> str:
        return f"{self.n} noted"


def _desk(last: Callable[[int], bool]) -> Task:
    def says(text: str) -> str:
        n = int(text.split()[0]) if text.endswith("noted") else 0
        return "DONE" if last(n) else f'{{"request": "note", "n": {n + 1}}}'

    agent = ChatAgent(ChatAgentConfig(name="desk", llm=PricedLMConfig(response_fn=says)))
    agent.enable_message(Note)
    return Task(agent, interactive=False)


@app.task
def endless() -> Task:
    return _desk(lambda n: False)


@app.task
def short() -> Task:
    return _desk(lambda n: n == 2)


@app.task
def single() -> Task:
    return _desk(lambda n: True)


class Shop:
    """Two coordinators and two workers of two threads each, which carry runs on; this thread lets time go by."""

    def __init__(self, world: World, fleet: Fleet, store: Store) -> None:
        self._world, self._fleet, self._store = world, fleet, store

    def submit(self, task: str, tenant: str, priority: int = 0) -> str:
        message = encode_document(ChatDocument(content="go"))
        new = NewRun(id=new_id("run"), task=task, version="1", message=message, priority=priority)
        run, _ = self._store.tenant(tenant).submit(new)
        self._fleet.broker.put(COORDINATOR_QUEUE, MoveEnvelope(run=run.id).model_dump_json())
        return run.id

    def wait(self, seconds: float) -> None:
        self._world.schedule.wait(seconds)

    def asks(self) -> list[dict[str, Any]]:
        return self._store.inspector.table("asks")

    def waits(self, runs: list[str]) -> list[float]:
        """Seconds that each ask of these runs, which have ended, was there without being claimed."""
        assert {self._store.inspector.run(run).status for run in runs} == {"completed"}
        return [ask["claimed_at"] - ask["created_at"] for ask in self.asks() if ask["run_id"] in runs]


@pytest.fixture(autouse=True)
def _slow_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow enough that nearly all of a slice is spent with models, as it is in earnest."""
    monkeypatch.setattr(models, "_USUAL", (0.25,))


@contextmanager
def _shop(folder: Path, seed: int, seconds: float = _SLICE) -> Iterator[Shop]:
    installation = Installation(app, folder)
    world = World(Random(seed), QUIET)
    installation.begin(world)
    settings = ServiceSettings(_env_file=None, slice_seconds=seconds)
    fleet = Fleet(world, installation.database, installation.apps, installation.apis, settings, installation.metrics)
    try:
        with collections_paused(), ids_from(world.new_id), world.schedule.directed():
            fleet.start()
            yield Shop(world, fleet, Store(installation.database))
        assert not [*fleet.errors, *world.schedule.failures]
    finally:
        installation.close()


def _beside_loops(shop: Shop, tenant: str, priority: int) -> list[float]:
    """The waits of six short runs that come while 50 loops without end keep every thread busy."""
    for _ in range(_LOOPS):
        shop.submit("endless", "patient")
    shop.wait(3 * _SLICE)
    runs = []
    for _ in range(6):
        runs.append(shop.submit("short", tenant, priority))
        shop.wait(0.7 * _SLICE)
    shop.wait(3 * _SLICE)
    return shop.waits(runs)


@pytest.mark.parametrize("seed", range(2))
def test_a_tenants_short_runs_wait_two_slices_at_most_beside_anothers_long_loops(tmp_path: Path, seed: int) -> None:
    with _shop(tmp_path, seed) as shop:
        waits = _beside_loops(shop, "quick", priority=0)

        assert max(waits) <= 2 * _SLICE
        # They did have to wait for busy threads, and runs were carried meanwhile.
        assert max(waits) > 0.1 * _SLICE
        assert waits.count(0.0) > len(waits) / 2


@pytest.mark.parametrize("seed", range(2))
def test_urgent_runs_of_the_same_tenant_wait_two_slices_at_most(tmp_path: Path, seed: int) -> None:
    with _shop(tmp_path, seed) as shop:
        waits = _beside_loops(shop, "patient", priority=5)

        assert max(waits) <= 2 * _SLICE


def test_tenants_that_both_have_much_to_do_get_the_same_number_of_answers(tmp_path: Path) -> None:
    # A slice of many answers, so that a carried run owes much by its end.
    with _shop(tmp_path, seed=1, seconds=6 * _SLICE) as shop:
        for _ in range(_LOOPS):
            shop.submit("endless", "patient")
        for _ in range(240):
            shop.submit("single", "quick")
        shop.wait(20 * _SLICE)
        answered = Counter(
            ask["tenant"] for ask in shop.asks() if ask["queue"] == "llm" and ask["status"] == "answered"
        )
        waiting = Counter(ask["tenant"] for ask in shop.asks() if ask["status"] == "runnable")

    assert all(waiting[tenant] for tenant in ("patient", "quick"))
    # The other is owed at most what four slices hold.
    assert answered["patient"] == pytest.approx(answered["quick"], rel=0.3), answered
