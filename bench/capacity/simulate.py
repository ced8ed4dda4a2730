"""A discrete-event simulation of an installation: conversations that go round through its stations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import simpy

from bench.capacity.demands import Demands, Step, scaled
from bench.capacity.stations import Log, Station, Steps

Draw = Callable[[random.Random], float]


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Processes and machines. `shared`: cores that everything is on, instead of machines of their own.

    Each coordinator and each worker has an interpreter, which is at one thing at a time; unless shared, each has a core
    for it. `wal` is what the log's disk writes, in bytes a second. `slice_seconds`: a worker carries a run on for so
    long where others wait.
    """

    workers: int
    threads: int = 16
    coordinators: int = 2
    coordinator_threads: int = 4
    database: float = 8.0
    broker: float = 4.0
    shared: float | None = None
    wal: float = 200e6
    flush: float | None = None
    slice_seconds: float = 2.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """Conversations under way, always so many; `latency` draws the seconds of a model's call."""

    conversations: int
    latency: Draw
    warm: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Turns a second; `turn` is seconds from ask to reply, `overhead` from reply to reply less the responder's work."""

    rate: float
    turn: dict[str, float]
    overhead: dict[str, float]
    utilization: dict[str, float] = field(default_factory=dict)
    lump: int = 1


# Conversations that are simulated one by one; beyond, one stands for several.
_MOST = 800


def simulate(demands: Demands, installation: Installation, load: Load, seed: int = 1) -> Outcome:
    """Let it run for a while; times are exponential around what was measured.

    With more than 800 conversations one stands for `lump` of them: there are fewer, on fewer processes, whose turns
    take database, broker and log `lump` times as long. So throughput, utilization and the wait at a full station stay,
    while the time at one that is not full comes out up to `lump` times too long.
    """
    lump = math.ceil(load.conversations / _MOST)
    return _Run(demands, installation, load, lump, seed).outcome()


class _Run:
    def __init__(self, demands: Demands, installation: Installation, load: Load, lump: int, seed: int) -> None:
        self._env = env = simpy.Environment()
        self._random = random.Random(seed)
        self._demands, self._load, self._lump = scaled(demands, lump), load, lump
        self._places = simpy.Resource(env, max(1, installation.workers * installation.threads // lump))
        # All of them, also of a lump: they hold what takes longer there, and would be full before what they wait for.
        self._movers = simpy.Resource(env, installation.coordinators * installation.coordinator_threads)
        self._coordinators = _Pool(env, "coordinators", installation.coordinators, lump)
        self._workers = _Pool(env, "workers", installation.workers, lump)
        self._cores: Station | None = None
        if installation.shared is not None:
            idle = demands.idle
            spent = sum(idle.get(kind, 0.0) for kind in ("model", "gateway", "database"))
            spent += (
                idle.get("coordinators", 0) * installation.coordinators + idle.get("workers", 0) * installation.workers
            )
            self._cores = Station(env, "cores", max(0.05, installation.shared - spent))
        self._database = Station(env, "database", installation.database)
        self._broker = Station(env, "broker", installation.broker)
        flush = demands.flush if installation.flush is None else installation.flush
        each = demands.wal_bytes / demands.commits() / installation.wal if demands.commits() else 0.0
        self._log = Log(env, flush, each * lump)
        self._slice = installation.slice_seconds
        self._turns: list[tuple[float, float]] = []

    def outcome(self) -> Outcome:
        env, load = self._env, self._load
        for _ in range(max(1, load.conversations // self._lump)):
            env.process(self._conversation(self._random.random() * load.latency(self._random)))
        env.run(load.warm)
        counted = self._counted()
        for station in counted:
            station.forget()
        self._turns.clear()
        env.run(load.warm + load.seconds)
        return Outcome(
            rate=len(self._turns) * self._lump / load.seconds,
            turn=_percentiles([took for took, _ in self._turns]),
            overhead=_percentiles([over for _, over in self._turns]),
            utilization={station.name: station.utilization() for station in counted},
            lump=self._lump,
        )

    def _counted(self) -> list[Station | _Pool | Log]:
        if self._cores is not None:
            return [self._coordinators, self._workers, self._cores, self._log]
        return [self._coordinators, self._workers, self._database, self._broker, self._log]

    def _conversation(self, first: float) -> Steps:
        yield self._env.timeout(first)  # not all at once
        yield from self._carried() if self._demands.carried else self._coordinated()

    def _coordinated(self) -> Steps:
        """A coordinator moves and publishes, a worker claims and replies."""
        model = True
        while True:
            answered = self._env.now
            with self._movers.request() as mover:
                yield mover
                yield from self._do(self._coordinators, self._demands.move)
                asked = self._env.now
                yield from self._do(self._coordinators, self._demands.publish)
            with self._places.request() as place:
                yield place
                yield from self._do(self._workers, self._demands.claim)
                yield from self._answer(model, answered, asked)
                yield from self._do(self._workers, self._demands.wake)
            model = not model

    def _carried(self) -> Steps:
        """A worker claims, and answers until its slice is over and others wait."""
        model = True
        while True:
            answered = self._env.now
            with self._places.request() as place:
                yield place
                until = self._env.now + self._slice
                yield from self._do(self._workers, self._demands.claim)
                while True:
                    yield from self._answer(model, answered, answered)
                    model, answered = not model, self._env.now
                    if self._places.queue and answered >= until:
                        break
                yield from self._do(self._workers, self._demands.publish)

    def _answer(self, model: bool, answered: float, asked: float) -> Steps:
        demands, process, begun = self._demands, self._workers, self._env.now
        if model:
            yield from self._do(process, demands.model_call)
            yield from self._use(self._cores, 2 * demands.model)  # a tool's turn has none
            yield self._env.timeout(self._load.latency(self._random))
        else:
            yield from self._do(process, demands.tool_call)
        worked = self._env.now - begun
        yield from self._do(process, demands.reply)
        now = self._env.now
        self._turns.append((now - asked, now - answered - worked))

    def _do(self, process: _Pool, step: Step) -> Steps:
        if step.python:
            with process.one(self._random).request() as turn:
                yield turn
                held = self._some(step.python)
                if self._cores is None:
                    yield from process.hold(held)
                else:
                    yield from self._cores.serve(held)
                    process.count(held)
        if step.database:
            yield from self._use(self._database, step.database)
        for _ in range(step.commits):
            yield from self._log.commit()
        if step.broker:
            yield from self._use(self._broker, step.broker)
        if step.confirm:
            yield self._env.timeout(step.confirm)

    def _use(self, station: Station | None, seconds: float) -> Steps:
        if self._cores is not None:
            yield from self._cores.serve(self._some(seconds))
        elif station is not None:
            yield from station.serve(self._some(seconds))

    def _some(self, mean: float) -> float:
        return self._random.expovariate(1 / mean) if mean > 0 else 0.0


class _Pool:
    """Processes alike, each with an interpreter; a message goes to any of them."""

    def __init__(self, env: simpy.Environment, name: str, processes: int, lump: int) -> None:
        self.name = name
        self._env = env
        # As many fewer as there are fewer conversations; where that leaves less than one, it is slower.
        self._interpreters = [simpy.Resource(env, 1) for _ in range(max(1, round(processes / lump)))]
        self._stretch = len(self._interpreters) * lump / processes
        self._busy = 0.0
        self._since = 0.0

    def one(self, chance: random.Random) -> simpy.Resource:
        """The interpreter of the process that does the next step."""
        return chance.choice(self._interpreters)

    def hold(self, seconds: float) -> Steps:
        """Be busy for so long."""
        held = seconds * self._stretch
        yield self._env.timeout(held)
        self._busy += held

    def count(self, seconds: float) -> None:
        """Note that one was busy, somewhere else."""
        self._busy += seconds

    def forget(self) -> None:
        """As with a station."""
        self._busy, self._since = 0.0, self._env.now

    def utilization(self) -> float:
        """The mean over the processes."""
        passed = self._env.now - self._since
        return self._busy / passed / len(self._interpreters) if passed else 0.0


def _percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    if not ordered:
        return {}
    return {
        "mean": sum(ordered) / len(ordered),
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
    }
