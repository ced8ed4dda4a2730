"""The embedded server: SQLite and queues of this process, without HTTP."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry

from bench import served
from bench.result import Result
from bench.tool_loop import app
from turnwise.app import App
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope, Work
from turnwise.bus.in_process import InProcessBus
from turnwise.bus.routing import AGENT_QUEUE, COORDINATOR_QUEUE, LLM_QUEUE
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers import observers_of
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise_coordinator.coordinator import Coordinator
from turnwise_responders.responders import Responders


def measure(turns: int, conversations: int = 1, *, moves: str = "coordinator") -> Result:
    """Turns a second with one file, synchronous NORMAL."""
    way = "embedded" if moves == "coordinator" else "embedded, carried"
    with server(moves=moves) as (store, bus):
        served.measure(way, store, bus, 10, 1, _own)
        return served.measure(way, store, bus, turns, conversations, _own)


def _own() -> list[int]:
    return [os.getpid()]


@contextmanager
def server(
    url: str | None = None,
    *,
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
    app: App = app,
    max_turns: int | None = None,
    moves: str = "coordinator",
) -> Iterator[tuple[Store, InProcessBus]]:
    """An embedded server on a database (default: a file of its own), and threads that serve it."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(url or f"sqlite:///{Path(folder) / 'bench.db'}", synchronous=synchronous)
        database.migrate()
        store, bus, settings = Store(database), InProcessBus(), load_settings(max_turns=max_turns, moves=moves)
        metrics = Metrics(CollectorRegistry())
        observers = observers_of(app, bus, metrics)
        coordinator = Coordinator(store, bus, app, settings, observers)
        responders = Responders(store, bus, app, settings, observers)

        def move(work: Work) -> None:
            assert isinstance(work, MoveEnvelope)
            coordinator.move(work.run)

        def answer(work: Work) -> None:
            assert isinstance(work, AskEnvelope)
            responders.answer(work)

        responders.start()
        coordinator.start()
        bus.consume([COORDINATOR_QUEUE], move, 1)
        bus.consume([LLM_QUEUE, AGENT_QUEUE], answer, 4)
        try:
            yield store, bus
        finally:
            bus.close()
            coordinator.stop()
            responders.stop()
            database.close()
