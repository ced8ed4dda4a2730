"""The simulation's predictions for 10 to 10,000 workers, and the first bottleneck."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.capacity.application import latency
from bench.capacity.bounds import ceiling
from bench.capacity.demands import Demands, demands
from bench.capacity.measurements import read
from bench.capacity.plot import draw
from bench.capacity.simulate import Installation, Load, Outcome, simulate

SIZES = (10, 30, 100, 300, 1_000, 10_000)
_LATENCY, _THREADS = 5.0, 16
# Workers for each coordinator, where coordinators grow along.
_EACH = 25
# Of a machine of its own for the database, with a local disk that keeps what it confirms.
_DATABASE, _BROKER, _FLUSH = 16.0, 8.0, 0.0005
_RULE = "| ---: | ---: | ---: | ---: | --- | ---: |"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A way to run it; where coordinators move each turn, there is one for every 25 workers, otherwise two."""

    name: str
    demands: Demands

    def outcome(self, workers: int) -> Outcome:
        """Of so many workers."""
        coordinators = 2 if self.demands.carried else max(2, -(-workers // _EACH))
        places = Installation(
            workers=workers,
            threads=_THREADS,
            coordinators=coordinators,
            database=_DATABASE,
            broker=_BROKER,
            flush=_FLUSH,
        )
        # One conversation for each place: a queue before a station comes from that station, not from want of places.
        conversations = workers * _THREADS
        # Where a station is full, a turn takes as long as all of them need there.
        servers = {"database": _DATABASE, "broker": _BROKER, "coordinators": coordinators, "workers": workers}
        needs = {name: seconds for name, seconds in self.demands.of_station().items() if name in servers}
        cycle = max(_LATENCY, conversations / ceiling(needs, servers)[1])
        load = Load(conversations=conversations, latency=_of_a_model, warm=2 * cycle, seconds=3 * cycle)
        return simulate(self.demands, places, load)


def predict(carried: Path, coordinated: Path, images: Path) -> None:
    """Print a table for each scenario, and draw both of them."""
    scenarios = [
        Scenario(name="workers carry runs on", demands=demands(read(carried))),
        Scenario(name="coordinators move each turn", demands=demands(read(coordinated))),
    ]
    for scenario in scenarios:
        needs = scenario.demands.of_station()
        print(f"{scenario.name}, CPU a turn:", ", ".join(f"{k} {v * 1000:.3f} ms" for k, v in needs.items()))
    found = {scenario.name: list(_table(scenario)) for scenario in scenarios}
    draw(SIZES, found, images / "capacity.png")
    print(f"drawn: {images / 'capacity.png'}")


def _table(scenario: Scenario) -> Iterable[Outcome]:
    print(f"\n{scenario.name}\n\n| workers | turns/s | p50 s | p99 s | fullest | lump |\n{_RULE}")
    for workers in SIZES:
        found = scenario.outcome(workers)
        # A flush is nearly always under way once there is much to do, and takes more with it: that is not being full.
        used = {name: share for name, share in found.utilization.items() if name != "log"}
        fullest = max(used, key=lambda name: used[name])
        over = found.overhead
        print(
            f"| {workers:,} | {found.rate:,.0f} | {over['p50']:.3f} | {over['p99']:.3f} | "
            f"{fullest} {used[fullest]:.0%} | {found.lump} |",
            flush=True,
        )
        yield found


def _of_a_model(chance: random.Random) -> float:
    return latency(_LATENCY, chance)
