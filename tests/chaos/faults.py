"""The faults of a chaos run, from a seed, and how each is carried out."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import psycopg
from tests.chaos.fleet import Fleet
from tests.chaos.record import Record
from tests.chaos.servers import Server
from tests.support.tcp_proxy import TcpProxy

Kind = Literal[
    "kill", "freeze", "database stop", "database crash", "broker stop", "broker crash", "cut", "half-open", "delay"
]
KILLS: tuple[Kind, ...] = ("kill",)
FREEZES: tuple[Kind, ...] = ("freeze",)
OUTAGES: tuple[Kind, ...] = ("database stop", "database crash", "broker stop", "broker crash")
CONNECTIONS: tuple[Kind, ...] = ("cut", "half-open", "delay")
# How often each comes, after each has come once.
_WEIGHTS: dict[Kind, int] = {
    "kill": 8,
    "freeze": 3,
    "database stop": 1,
    "database crash": 1,
    "broker stop": 1,
    "broker crash": 1,
    "cut": 3,
    "half-open": 2,
    "delay": 2,
}
# Whom a freeze may hit. Those who run tools are left out: a handler that wakes after a person has told its outcome
# would make that untrue, and no lease can stop it.
_FROZEN_ROLES = ("gateway", "coordinator", "llm")
# How many of ten faults come before the one before is got over.
_OVERLAPPING = 0.25
# Seconds: the longest that is waited for the affected to go on, before the next fault.
_PATIENCE = 20.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`target` is a process, or a lane's number and server; `seconds` is how long it lasts."""

    kind: Kind
    target: str
    seconds: float
    overlaps: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.target} {self.seconds:.1f} s".replace("  ", " ")


@dataclass
class Happened:
    """A fault that was carried out: from `over` on, everybody could go on; times are this machine's.

    `affected` are the runs that it may have held up, with the number of their last event before.
    """

    fault: Fault
    began: float
    over: float
    affected: Mapping[str, int] = field(default_factory=dict)


def plan(seed: int, names: Sequence[str], lanes: int, kinds: Sequence[Kind]) -> Iterator[Fault]:
    """Faults without end: first each kind once (a kill of each of `names`), in some order, then by their weights."""
    chance = random.Random(f"faults {seed}")
    first: list[tuple[Kind, str]] = [(kind, "") for kind in kinds if kind != "kill"]
    if "kill" in kinds:
        first += [("kill", name) for name in names]
    chance.shuffle(first)
    for kind, name in first:
        yield _fault(chance, kind, name, names, lanes)
    weights = [_WEIGHTS[kind] for kind in kinds]
    while True:
        yield _fault(chance, chance.choices(kinds, weights)[0], "", names, lanes)


def _fault(chance: random.Random, kind: Kind, name: str, names: Sequence[str], lanes: int) -> Fault:
    if kind == "kill":
        target, seconds = name or chance.choice(names), chance.uniform(0, 1)
    elif kind == "freeze":
        target = chance.choice([one for one in names if one.startswith(_FROZEN_ROLES)])
        seconds = chance.uniform(1, 9)  # a lease is 5 s
    elif kind in OUTAGES:
        target, seconds = "", chance.uniform(0.2, 3)
    else:
        target = f"{chance.randrange(lanes)} {chance.choice(('database', 'broker'))}"
        seconds = 0.0 if kind == "cut" else chance.uniform(1, 6)
    return Fault(kind=kind, target=target, seconds=seconds, overlaps=chance.random() < _OVERLAPPING)


class Trouble:
    """Carries faults out, one after another, in a thread from `start` to `stop`."""

    def __init__(
        self,
        faults: Iterator[Fault],
        fleet: Fleet,
        database: Server,
        broker: Server,
        record: Record,
        tell: Callable[[str], None],
        *,
        gap: float,
    ) -> None:
        self._faults = faults
        self._fleet = fleet
        self._servers = {"database": database, "broker": broker}
        self._record = record
        self._tell = tell
        self._gap = gap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trouble", daemon=True)
        self.happened: list[Happened] = []
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stopping(self) -> None:
        """Begin no other fault."""
        self._stopping.set()

    def finish(self) -> None:
        """Wait until all faults have happened; raises what went wrong in the run's own code."""
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Let the one that is going on end, and begin no other; raises what went wrong in the run's own code."""
        self.stopping()
        self.finish()

    def _run(self) -> None:
        try:
            for fault in self._faults:
                if self._stopping.wait(0.5 if fault.overlaps else self._gap):
                    return
                if not fault.overlaps:
                    self._settle()
                if fault.kind in (*KILLS, *FREEZES) and not self._fleet.await_role(fault.target):
                    continue
                self._tell(str(fault))
                self.happened.append(self._carry_out(fault))
        except BaseException as failure:  # noqa: BLE001 - raised by stop, in the thread that can do something about it
            self.failure = failure

    def _settle(self) -> None:
        """Wait until all that the last fault affected has gone on."""
        if not self.happened:
            return
        last, end = self.happened[-1], time.monotonic() + _PATIENCE
        with suppress(psycopg.OperationalError):
            while not self._stopping.wait(0.5) and time.monotonic() < end:
                now = self._record.progress()
                if all(now[run][0] > before for run, before in last.affected.items()):
                    return

    def _carry_out(self, fault: Fault) -> Happened:
        affected = self._affected(fault)
        began = time.time()
        if fault.kind == "kill":
            self._fleet.kill(fault.target, fault.seconds)
            return Happened(fault=fault, began=began, over=began, affected=affected)
        if fault.kind == "freeze":
            self._fleet.freeze(fault.target, lambda: self._stopping.wait(fault.seconds))
        elif fault.kind in OUTAGES:
            which, how = fault.kind.split()
            self._restart(self._servers[which], how, fault.seconds)
        else:
            self._spoil(fault)
        return Happened(fault=fault, began=began, over=time.time(), affected=affected)

    def _affected(self, fault: Fault) -> Mapping[str, int]:
        try:
            if fault.kind in (*KILLS, *FREEZES) and not fault.target.startswith(("gateway", "coordinator")):
                return self._record.held_by(self._fleet.pids()[fault.target])
            return {} if fault.target.startswith("gateway") else self._record.at_work()
        except psycopg.OperationalError:  # the database is away: what that held up is held up still
            return self.happened[-1].affected if self.happened else {}

    def _restart(self, server: Server, how: str, away: float) -> None:
        if how == "stop":
            server.stop()
        else:
            server.crash()
        self._stopping.wait(away)
        server.start()
        server.await_answer()

    def _spoil(self, fault: Fault) -> None:
        number, _, which = fault.target.partition(" ")
        lane = self._fleet.lanes[int(number)]
        proxy: TcpProxy = lane.database if which == "database" else lane.broker
        if fault.kind == "cut":
            proxy.cut()
            return
        if fault.kind == "half-open":
            proxy.swallow()
        else:
            proxy.delay(0.1)
        self._stopping.wait(fault.seconds)
        proxy.heal()
