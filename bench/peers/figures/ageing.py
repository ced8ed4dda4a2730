"""Turns late in a long conversation, and early ones, in each way of running."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Sequence

from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench import distributed, embedded, in_process, served
from bench.peers.figures import names
from bench.tool_loop import loop
from turnwise import App, Task

_TURNS, _WINDOW, _YOUNG = 5_000, 200, 50
_MAX_TURNS = 10_000


def measure() -> dict[str, float]:
    """Return the ratios: of CPU time in one process, of time on the clock where there are several."""
    return {
        names.AGEING_IN_PROCESS: in_process.ageing(_TURNS, _WINDOW, repeats=1),
        names.AGEING_EMBEDDED: _embedded(),
        names.AGEING_DISTRIBUTED: _distributed(),
    }


def ratio(at: Sequence[float], young: int, window: int) -> float:
    """Return the median step between the last `window` of these times, to that of as many from the `young`th on."""
    steps = [later - earlier for earlier, later in itertools.pairwise(at)]
    return statistics.median(steps[-window:]) / statistics.median(steps[young : young + window])


def _embedded() -> float:
    at: list[float] = []
    app = App("bench", version="1")

    @app.task(name="loop")
    def noted() -> Task:
        return loop(seen=lambda: at.append(time.process_time()))

    with embedded.server(app=app, max_turns=_MAX_TURNS, moves="worker") as (store, bus):
        served.play(store, bus, _TURNS + _WINDOW, 1)
    # The model notes every second turn.
    return ratio(at, _YOUNG // 2, _WINDOW // 2)


def _distributed() -> float:
    limit = {"TURNWISE_MAX_TURNS": str(_MAX_TURNS)}
    with (
        fresh_postgres() as database,
        fresh_rabbitmq() as broker,
        distributed.running(database, broker, services=distributed.TOGETHER, variables=limit) as services,
    ):
        (run,), _ = served.play(services.store, services.bus, _TURNS + _WINDOW, 1)
        at = sorted(ask["closed_at"] for ask in services.store.inspector.table("asks") if ask["run_id"] == run)
    return ratio(at, _YOUNG, _WINDOW)
