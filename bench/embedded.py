"""The embedded server: SQLite and queues of this process, without HTTP."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry

from bench import served
from bench.result import Result
from bench.run_ends import EndsInProcess
from bench.threads import THREADS
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


def measure(turns: int, conversations: int = 1, *, moves: str = "worker") -> Result:
    """Turns a second with one file, synchronous NORMAL."""
    way = "embedded" if moves == "worker" else "embedded, moves by coordinators"
    ends, first = EndsInProcess(), served.first_moves(app) if moves == "worker" else None
    with server(moves=moves, ends=ends) as (store, bus):
        served.measure(way, store, bus, 10, 1, _own, ends=ends, moves=first)
        return served.measure(way, store, bus, turns, conversations, _own, ends=ends, moves=first)


def _own() -> list[int]:
    return [os.getpid()]


@contextmanager
def server(
    url: str | None = None,
    *,
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
    app: App = app,
    max_turns: int | None = None,
    moves: str = "worker",
    pools: bool = False,
    ends: EndsInProcess | None = None,
) -> Iterator[tuple[Store, InProcessBus]]:
    """An embedded server on a database (default: a file of its own), and threads that serve it.

    With `pools` one worker serves models and another tools, as two processes would. `ends` hears of the ends of runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Database(url or f"sqlite:///{Path(folder) / 'bench.db'}", synchronous=synchronous)
        database.migrate()
        store, bus, settings = Store(database), InProcessBus(), load_settings(max_turns=max_turns, moves=moves)
        metrics = Metrics(CollectorRegistry())
        observers = observers_of(app, bus, metrics, *([] if ends is None else [ends]))
        coordinator = Coordinator(store, bus, app, settings, observers)
        served_queues = [[LLM_QUEUE], [AGENT_QUEUE]] if pools else [[LLM_QUEUE, AGENT_QUEUE]]
        workers = [Responders(store, bus, app, settings, observers, queues=queues) for queues in served_queues]

        def move(work: Work) -> None:
            assert isinstance(work, MoveEnvelope)
            coordinator.move(work.run)

        def answer(worker: Responders, work: Work) -> None:
            assert isinstance(work, AskEnvelope)
            worker.answer(work)

        for worker in workers:
            worker.start()
        coordinator.start()
        bus.consume([COORDINATOR_QUEUE], move, 1)
        for queues, worker in zip(served_queues, workers, strict=True):
            bus.consume(queues, partial(answer, worker), THREADS)
        try:
            yield store, bus
        finally:
            bus.close()
            coordinator.stop()
            for worker in workers:
                worker.stop()
            database.close()
