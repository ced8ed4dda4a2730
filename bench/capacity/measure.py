"""The cost of a turn in each part of a real installation."""

from __future__ import annotations

import os
import platform
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from tests.support.databases import fresh_postgres

from bench.account import gather
from bench.capacity.fleet import Fleet, Plan, fleet, own_broker
from bench.capacity.measurements import Measurements
from bench.counting import turns_of

_RUNS, _TURNS, _WARM, _IDLE = 12, 40, 2, 4.0
# An answer is quick here: what is measured is everything else.
_LATENCY = 0.2


def measure(*, moves: str = "worker") -> Measurements:
    """Run some conversations and take their costs apart."""
    flush = _flush()
    plan = Plan(latency=_LATENCY, moves=moves)
    before = os.getloadavg()[0]
    with TemporaryDirectory(prefix="turnwise-capacity-") as name:
        folder = Path(name)
        with own_broker(folder) as broker, fleet(plan, folder, broker) as running:
            processes, idle, wal = _costs(running)
        done = turns_of(_TURNS) * (_RUNS + _WARM)
        parts = gather(folder, done)
    return Measurements(
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        cores=os.cpu_count() or 1,
        load=(round(before, 1), round(os.getloadavg()[0], 1)),
        turns=turns_of(_TURNS) * _RUNS,
        turns_per_run=turns_of(_TURNS),
        parts=parts,
        processes={kind: round(value, 3) for kind, value in processes.items()},
        idle={kind: round(value, 3) for kind, value in idle.items()},
        flush=round(flush, 3),
        wal_bytes=round(wal),
    )


def _costs(running: Fleet) -> tuple[dict[str, float], dict[str, float], float]:
    running.submit(_WARM, _TURNS)
    running.wait_all_ended()
    rates = [_at_rest(running)]
    used, begun, written = running.cpu(), time.monotonic(), _written(running)
    running.submit(_RUNS, _TURNS)
    running.wait_all_ended()
    seconds, after, written = time.monotonic() - begun, running.cpu(), _written(running) - written
    rates.append(_at_rest(running))
    done = turns_of(_TURNS) * _RUNS
    idle = {kind: statistics.mean(rate[kind] for rate in rates) for kind in used}
    busy = {kind: after[kind] - used[kind] - idle[kind] * seconds for kind in used}
    return (
        {kind: max(0.0, value) * 1000 / done for kind, value in busy.items()},
        {kind: value * 1000 for kind, value in idle.items()},
        written / done,
    )


def _at_rest(running: Fleet) -> dict[str, float]:
    """CPU seconds a second while there is nothing to do."""
    before, begun = running.cpu(), time.monotonic()
    time.sleep(_IDLE)
    passed = time.monotonic() - begun
    return {kind: (value - before[kind]) / passed for kind, value in running.cpu().items()}


def _written(running: Fleet) -> int:
    """Bytes in the write-ahead log; those of the whole server, so others' are counted, too."""
    found = running.query("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")[0][0]
    assert isinstance(found, int)
    return found


def _flush(commits: int = 200) -> float:
    """Milliseconds that a commit waits for the disk: of a quick tiny one, less that of one that does not wait."""
    quickest = []
    with fresh_postgres() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE one (n int)")
        for waits in ("off", "on"):
            connection.execute(f"SET synchronous_commit = {waits}".encode())
            times = []
            for n in range(commits):
                begun = time.perf_counter()
                connection.execute("INSERT INTO one VALUES (%s)", [n])
                times.append(time.perf_counter() - begun)
            quickest.append(sorted(times)[commits // 20])
    return max(0.0, quickest[1] - quickest[0]) * 1000
