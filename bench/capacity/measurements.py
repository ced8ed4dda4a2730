"""The measured cost of a turn: written by `measure`, read by the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One call of a part; times in milliseconds, without the parts that it calls.

    `wall` is the median of the time on the clock, `quick` its first percentile: what a call takes where nobody is in
    the way. `database` is CPU time of the connection's server process, `transactions` counts uses of a connection.
    """

    calls: float
    cpu: float
    wall: float
    quick: float
    database: float
    transactions: float
    statements: float = 0.0
    commits: float = 0.0
    round_trips: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """Costs of the parts of a turn (`calls` is per turn) and of processes, with what they were measured on.

    `processes` is CPU in milliseconds a turn by kind of process, idle time's share taken off; `idle` is CPU in
    milliseconds a second of one process of the kind that has nothing to do. `flush` is a commit's wait for the disk in
    milliseconds; `wal_bytes` a turn and `load`, the load average before and after, are of the whole server and machine.
    """

    machine: str
    cores: int
    load: tuple[float, float]
    turns: int
    turns_per_run: int
    parts: dict[str, Cost]
    processes: dict[str, float]
    idle: dict[str, float]
    flush: float
    wal_bytes: float

    def part(self, name: str) -> Cost:
        """The cost of a part; nothing for one that did not occur."""
        return self.parts.get(name, Cost(calls=0, cpu=0, wall=0, quick=0, database=0, transactions=0))

    def write(self, file: Path) -> None:
        """Write as JSON."""
        file.write_bytes(_FORM.dump_json(self, indent=2) + b"\n")

    def total(self) -> float:
        """CPU in milliseconds of a whole turn, over all processes."""
        return sum(self.processes.values())


_FORM = TypeAdapter(Measurements)


def read(file: Path) -> Measurements:
    """Read what `Measurements.write` wrote; raises `FileNotFoundError`, pydantic's `ValidationError`."""
    return _FORM.validate_json(file.read_bytes())
