"""`python -m bench.safety`: what the promises cost, as turns a second beside those of an earlier commit.

Both are set up at once and measured in turn, in several rounds, each by the benchmark of its own tree, so that what
else the machine does meets both alike; what counts is the median of the rounds' ratios. The earlier one is unpacked
and installed into a virtual environment of its own, which is kept for the next time. Exits with 1 if a way of running
lost more than it may.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parent.parent
# The last commit before calls were reserved, tools had receipts, and work was handed over with fences of its own.
_BASE = "a9c8550"
_LEAST_RATIO = 0.85
# Run in the tree that is measured, so it may use only what both trees have. For each line that it reads it measures
# once more, and prints "measured" with [way, turns/s, CPU ms a turn] for each of its loops. It says "ready" at first.
_PROBE = """
import json, os, sys
sys.path.insert(0, ".")
from bench import distributed, embedded, in_process, served
from tests.support.brokers import AMQP_URL, fresh_rabbitmq
from tests.support.databases import fresh_postgres
from turnwise.processes.bootstrap import open_parts
from turnwise.record.database.database import Database
from turnwise.processes.settings import ServiceSettings, load_settings

def answer(measure):
    print("ready", flush=True)
    for _ in sys.stdin:
        told = [[way, result.rate, sum(result.cpu_ms.values())] for way, result in measure()]
        print("measured", json.dumps(told), flush=True)

def of_services(label, together):
    with fresh_rabbitmq() as broker, fresh_postgres() as database:
        if broker == AMQP_URL:
            raise SystemExit("both trees would use the same queues: rabbitmqctl, which makes virtual hosts, fails")
        where = {"app": "bench.tool_loop:app", "database_url": database, "broker_url": broker}
        settings = {f"TURNWISE_{name.upper()}": value for name, value in where.items()}
        moves = {"TURNWISE_MOVES": "worker" if together else "coordinator"}
        if "moves" not in ServiceSettings.model_fields:  # an earlier version
            moves = {"TURNWISE_MOVE_WITH_REPLY": str(together).lower()}
        settings |= moves | {"TURNWISE_LOG_LEVEL": "WARNING"}
        made = Database(database)
        made.migrate()
        made.close()
        parts = open_parts(load_settings(**where))
        with distributed._services(os.environ | settings) as processes:
            def loop(turns, conversations):
                pids = lambda: [process.pid for process in processes]
                return served.measure(label, parts.store, parts.bus, turns, conversations, pids)
            loop(100, 8)  # until everybody has connected, and knows his statements
            answer(lambda: [(f"{label}, one", loop(200, 1)), (f"{label}, 50 at once", loop(50, 50))])
        parts.close()

way = sys.argv[1]
if way == "in-process":
    answer(lambda: [(way, in_process.measure(800))])
elif way == "embedded":
    answer(lambda: [(way, embedded.measure(400))])
else:
    of_services(way, together=way != "distributed")
"""
WAYS = ("in-process", "embedded", "distributed", "distributed, moved by workers")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measurement of one tree."""

    way: str
    rate: float
    cpu_ms: float


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A source tree and the interpreter that has it installed."""

    folder: Path
    python: Path

    @contextmanager
    def probe(self, way: str) -> Iterator[Callable[[], list[Measured]]]:
        """The benchmark of that way, set up; each call measures its loops once. `RuntimeError` if it fails."""
        paths = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and self.folder == _ROOT]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [str(self.python), "-c", _PROBE, way],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), *paths])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            asked, told = process.stdin, process.stdout

            def line(wanted: str) -> str:
                for said in told:
                    if said.startswith(wanted):
                        return said.removeprefix(wanted)
                errors.seek(0)
                raise RuntimeError(f"{way} in {self.folder} failed:\n{errors.read()[-3000:]}")

            def measure() -> list[Measured]:
                with suppress(BrokenPipeError):  # it has failed, as the next line shows
                    asked.write("again\n")
                    asked.flush()
                found = json.loads(line("measured "))
                return [Measured(way=str(name), rate=float(rate), cpu_ms=float(cpu)) for name, rate, cpu in found]

            try:
                line("ready")
                yield measure
            finally:
                with suppress(BrokenPipeError):
                    asked.close()
                told.close()
                process.wait(60)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.safety", description=__doc__)
    parser.add_argument("--base", default=_BASE, help="the earlier commit; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=9, help="default: %(default)s")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this one; may be given again")
    given = parser.parse_args()
    before, now = _base(given.base), Tree(folder=_ROOT, python=Path(sys.executable))
    print(f"turns/s at {given.base} and now, {given.rounds} rounds, medians")
    print(f"{'way':<40}{'before':>8}{'now':>8}{'ratio':>8}   (rounds)          CPU/turn", flush=True)
    held = [_compare(before, now, way, given.rounds) for way in given.way or WAYS]
    return 0 if all(held) else 1


def _compare(before: Tree, now: Tree, way: str, rounds: int) -> bool:
    """Return whether each loop of that way kept enough of its speed."""
    old: dict[str, list[Measured]] = defaultdict(list)
    new: dict[str, list[Measured]] = defaultdict(list)
    with before.probe(way) as measure_old, now.probe(way) as measure_new:
        pairs = [(measure_old, old), (measure_new, new)]
        for number in range(rounds):
            # Who is first changes: a machine may get slower or faster while both are measured.
            for measure, found in pairs if number % 2 == 0 else reversed(pairs):
                for measured in measure():
                    found[measured.way].append(measured)
    shown = [_show(name, old[name], new[name]) for name in new]
    return all(shown)


def _show(way: str, old: Sequence[Measured], new: Sequence[Measured]) -> bool:
    ratios = [late.rate / early.rate for early, late in zip(old, new, strict=True)]
    cpu = statistics.median(late.cpu_ms / early.cpu_ms for early, late in zip(old, new, strict=True))
    ratio = statistics.median(ratios)
    rates = [statistics.median(one.rate for one in side) for side in (old, new)]
    spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
    aim = "" if ratio >= _LEAST_RATIO else f"   below {_LEAST_RATIO}"
    print(f"{way:<40}{rates[0]:>8.0f}{rates[1]:>8.0f}{ratio:>8.2f}   {spread:<18}{cpu:>7.2f}{aim}", flush=True)
    return ratio >= _LEAST_RATIO


def _base(commit: str) -> Tree:
    """The earlier commit, unpacked and installed under the folder for temporary files."""
    folder = Path(tempfile.gettempdir()) / f"turnwise-{commit}"
    tree = Tree(folder=folder / "tree", python=folder / "venv" / "bin" / "python")
    installed = folder / "installed"
    if not installed.exists():
        print(f"installing {commit} in {folder} (once; remove the folder when it is not needed)", flush=True)
        tree.folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", commit], cwd=_ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x"], cwd=tree.folder, input=archive.stdout, check=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", "constraints.txt", "-e", ".[all]"]
        subprocess.run([str(tree.python), *install], cwd=tree.folder, check=True)
        installed.touch()
    return tree


if __name__ == "__main__":
    sys.exit(main())
