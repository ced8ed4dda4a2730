"""`python -m bench.safety`: what the promises cost, as turns a second beside those of an earlier commit.

Both are measured in turn, in several rounds, each by the benchmark of its own tree, so that what else the machine does
meets both alike; what counts is the median of the rounds' ratios. The earlier one is unpacked and installed into a
virtual environment of its own, which is kept for the next time. Exits with 1 if a way of running lost more than it may.
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parent.parent
# The last commit before calls were reserved, tools had receipts, and work was handed over with fences of its own.
_BASE = "a9c8550"
_LEAST_RATIO = 0.85
# Run in the tree that is measured, so it may use only what both trees have. Prints [way, turns/s, CPU ms a turn].
_PROBE = """
import json, sys
sys.path.insert(0, ".")
from bench import distributed, embedded, in_process
from tests.brokers import fresh_rabbitmq
from tests.databases import fresh_postgres

def tell(way, result):
    print("measured", json.dumps([way, result.rate, sum(result.cpu_ms.values())]), flush=True)

def served(label, together):
    with fresh_rabbitmq() as broker, fresh_postgres() as database:
        loops = [(200, 1), (50, 50)]
        one, many = distributed.measure(label, database, broker, loops, move_with_reply=together)
    tell(f"{label}, one", one)
    tell(f"{label}, 50 at once", many)

way = sys.argv[1]
if way == "in-process":
    tell(way, in_process.measure(800))
elif way == "embedded":
    tell(way, embedded.measure(400))
else:
    served(way, together=way != "distributed")
"""
WAYS = ("in-process", "embedded", "distributed", "distributed, move with reply")


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

    def measure(self, way: str) -> list[Measured]:
        """Each loop of that way; raises `RuntimeError` with the output if the benchmark fails."""
        paths = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and self.folder == _ROOT]
        done = subprocess.run(
            [str(self.python), "-c", _PROBE, way],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), *paths])},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{way} in {self.folder} failed:\n{done.stderr[-3000:]}")
        lines = [line for line in done.stdout.splitlines() if line.startswith("measured ")]
        found = [json.loads(line.removeprefix("measured ")) for line in lines]
        return [Measured(way=str(name), rate=float(rate), cpu_ms=float(cpu)) for name, rate, cpu in found]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.safety", description=__doc__)
    parser.add_argument("--base", default=_BASE, help="the earlier commit; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this one; may be given again")
    given = parser.parse_args()
    before, now = _base(given.base), Tree(folder=_ROOT, python=Path(sys.executable))
    print(f"turns/s at {given.base} and now, {given.rounds} rounds, medians")
    print(f"{'way':<40}{'before':>8}{'now':>8}{'ratio':>8}   (rounds)          CPU/turn", flush=True)
    held = [_compare(before, now, way, given.rounds) for way in given.way or WAYS]
    return 0 if all(held) else 1


def _compare(before: Tree, now: Tree, way: str, rounds: int) -> bool:
    """Whether each loop of that way kept enough of its speed."""
    old: dict[str, list[Measured]] = defaultdict(list)
    new: dict[str, list[Measured]] = defaultdict(list)
    for number in range(rounds):
        pairs = [(before, old), (now, new)]
        # Who is first changes: a machine may get slower or faster while both are measured.
        for tree, found in pairs if number % 2 == 0 else reversed(pairs):
            for measured in tree.measure(way):
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
