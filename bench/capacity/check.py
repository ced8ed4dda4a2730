"""The simulation beside real runs on this machine."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter
from tests.chaos.servers import RabbitMQ

from bench.capacity.application import latency
from bench.capacity.demands import demands
from bench.capacity.fleet import Fleet, Plan, fleet, own_broker
from bench.capacity.measurements import Measurements, read
from bench.capacity.simulate import Installation, Load, Outcome, simulate

_LATENCY, _THREADS = 1.0, 8
# Turns of a run, at least: a model's calls differ so much that the rate of 100 of them says little.
_TURNS, _TURNS_OF_EACH = 1_600, 20
# Worker processes and conversations at once: as many as there are threads, three times as many, and more than two cores
# can run.
POINTS = ((2, 16), (4, 32), (2, 48), (8, 192))
_RULE = "| ---: " * 10 + "|"


@dataclass(frozen=True, kw_only=True)
class Real:
    """A real run: turns a second, the mean and p99 of a turn in seconds, and how many cores others used meanwhile.

    `cpu` is milliseconds a turn, `load` the load average at its end.
    """

    workers: int
    conversations: int
    rate: float
    mean: float
    p99: float
    others: float
    cpu: float
    load: float


_FORM = TypeAdapter(list[Real])


def check(file: Path, seen: Path, *, again: bool = False) -> None:
    """Run each point and keep what was seen, simulate it with the cores that others left, and print both.

    `again`: with the real runs that were kept in `seen` before.
    """
    found = read(file)
    print("| workers | at once | turns/s | predicted | error | mean s | predicted | CPU ms | others | load |\n" + _RULE)
    runs = _FORM.validate_json(seen.read_bytes()) if again else []
    for at, (workers, conversations) in enumerate(POINTS[: len(runs)] if again else POINTS):
        if not again:
            with TemporaryDirectory(prefix="turnwise-capacity-") as folder, own_broker(Path(folder)) as broker:
                runs.append(_real(workers, conversations, broker))
            seen.write_bytes(_FORM.dump_json(runs, indent=2) + b"\n")
        _show(runs[at], _predicted(found, runs[at]))


def _show(real: Real, predicted: Outcome) -> None:
    print(
        f"| {real.workers} | {real.conversations} | {real.rate:.1f} | {predicted.rate:.1f} | "
        f"{predicted.rate / real.rate - 1:+.0%} | {real.mean:.2f} | {predicted.turn['mean']:.2f} | {real.cpu:.1f} | "
        f"{real.others:.2f} | {real.load:.1f} |",
        flush=True,
    )


def _real(workers: int, conversations: int, broker: RabbitMQ) -> Real:
    plan = Plan(workers=workers, threads=_THREADS, latency=_LATENCY)
    with fleet(plan, own=broker) as running:
        running.submit(workers, 4)  # until everybody has connected
        running.wait_all_ended()
        since = running.query("SELECT extract(epoch FROM now())::float")[0][0]
        used, busy, at = running.cpu(), _busy(), time.monotonic()
        running.submit(conversations, max(_TURNS_OF_EACH, _TURNS // conversations))
        running.wait_all_ended()
        seconds = time.monotonic() - at
        ours = sum(running.cpu().values()) - sum(used.values())
        others = max(0.0, _busy() - busy - ours) / seconds
        rate, mean, p99, turns = _seen(running, since)
    return Real(
        workers=workers,
        conversations=conversations,
        rate=rate,
        mean=mean,
        p99=p99,
        others=others,
        cpu=ours * 1000 / turns,
        load=os.getloadavg()[0],
    )


def _seen(running: Fleet, since: object) -> tuple[float, float, float, int]:
    """Of the middle half of the turns, which is when all conversations are under way; and how many there were."""
    rows = running.query(f"SELECT closed_at, closed_at - created_at FROM asks WHERE created_at > {since} ORDER BY 1")
    ended = [(float(str(at)), float(str(took))) for at, took in rows]
    middle = ended[len(ended) // 4 : len(ended) * 3 // 4]
    took = sorted(seconds for _, seconds in middle)
    rate = (len(middle) - 1) / (middle[-1][0] - middle[0][0])
    return rate, sum(took) / len(took), took[len(took) * 99 // 100], len(ended)


def _predicted(found: Measurements, real: Real) -> Outcome:
    cores = max(0.1, (os.cpu_count() or 1) - real.others)
    installation = Installation(workers=real.workers, threads=_THREADS, coordinators=1, shared=cores)
    load = Load(conversations=real.conversations, latency=_of_a_model, warm=30, seconds=120)
    return simulate(demands(found), installation, load)


def _of_a_model(chance: random.Random) -> float:
    return latency(_LATENCY, chance)


def _busy() -> float:
    """CPU seconds of this machine so far, all but idle and waiting."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
