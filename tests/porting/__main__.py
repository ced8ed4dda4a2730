"""Plays the programs on both sides and prints, or writes down, what differs.

python -m tests.porting --reference ref/bin/python --examples langroid/examples --only quick-start

This interpreter has Turnwise, and what the programs import besides: fire, fastmcp, numpy, pandas, python-dotenv,
requests.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from .outcome import Compared, Outcome, Results, conversation, ports, served, unusable
from .page import PAGE, RESULTS, render
from .play import STAND_IN, Played, Side
from .program import Program, load_programs
from .serving import played_distributed, served_side
from .step import copy_examples

_NOT_RUN = Compared(equal=None)


class Sides:
    """The reference and the ways to run on Turnwise, over copies of the examples below `folder`."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        for name, port in (("reference", False), ("ours", True)):
            copy_examples(options.examples, folder / name, port=port)
        self.reference = Side(python=options.reference, directory=folder / "reference", paths=(STAND_IN,))
        self.ours = Side(python=sys.executable, directory=folder / "ours")
        self.embedded = served_side(sys.executable, folder / "ours")
        self._options = options
        self._folder = folder

    def compare(self, program: Program) -> Outcome:
        """Play one program on all sides that it is for."""
        there = self.reference.play(program)
        if wrong := unusable(program, there):
            raise SystemExit(f"{program.path}: {wrong}\n{there.errors[-2000:]}")
        here = self.ours.play(program)
        return Outcome(
            path=program.path,
            requests=len(there.requests),
            ports=ports(there, here),
            script=conversation(program, there, here),
            embedded=self._embedded(program, there),
            distributed=self._distributed(program, there),
            remark=program.remark,
        )

    def _embedded(self, program: Program, there: Played) -> Compared:
        if program.unserved or self._options.unserved:
            return Compared(equal=None, why=program.unserved)
        return served(program, there, self.embedded.play(program))

    def _distributed(self, program: Program, there: Played) -> Compared:
        if not program.distributed or self._options.unserved or not self._options.distributed:
            return _NOT_RUN
        return served(program, there, played_distributed(self._folder / "ours", program))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all chosen programs port and are equal in every way that was played; else 1."""
    options = _parser().parse_args(arguments)
    programs = load_programs(options.only)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        sides = Sides(options, Path(folder))
        outcomes = []
        for outcome in pool.map(sides.compare, programs):
            _show(outcome)
            outcomes.append(outcome)
    if options.write:
        _write(options, outcomes)
    failed = sum(not _good(outcome) for outcome in outcomes)
    print(f"{len(outcomes)} programs, {failed} with a difference")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.porting", description="Compares programs with the reference.")
    parser.add_argument("--reference", required=True, help="interpreter of an environment with the reference")
    parser.add_argument("--examples", required=True, type=Path, help="the reference's folder of examples")
    parser.add_argument("--only", action="append", default=[], help="programs whose path has this word (repeatable)")
    parser.add_argument("--jobs", type=int, default=2, help="programs at once (default 2)")
    parser.add_argument("--unserved", action="store_true", help="only in scripts")
    parser.add_argument("--distributed", action="store_true", help="a sample on PostgreSQL and RabbitMQ, too")
    parser.add_argument(
        "--write", action="store_true", help="write the results of what is played, and the page of the docs"
    )
    return parser


def _show(outcome: Outcome) -> None:
    ways = {"ports": outcome.ports, "script": outcome.script, "embedded": outcome.embedded}
    ways["distributed"] = outcome.distributed
    words = {True: "yes", False: "NO", None: "-"}
    print(f"{outcome.path}: " + ", ".join(f"{name} {words[one.equal]}" for name, one in ways.items()), flush=True)
    for name, one in ways.items():
        if one.equal is False:
            print(f"    {name}: {one.why}", flush=True)


def _good(outcome: Outcome) -> bool:
    return not any(one.equal is False for one in (outcome.ports, outcome.script, outcome.embedded, outcome.distributed))


def _write(options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    """Write down what was played; of what was not, the earlier outcome stays."""
    played = {outcome.path for outcome in outcomes}
    kept = Results.model_validate_json(RESULTS.read_text("utf-8")).outcomes if RESULTS.exists() else []
    order = {program.path: at for at, program in enumerate(load_programs())}
    outcomes = [*outcomes, *(outcome for outcome in kept if outcome.path in order and outcome.path not in played)]
    results = Results(
        date=datetime.now(UTC).date().isoformat(),
        reference=_version(options.reference, "langroid"),
        turnwise=version("turnwise"),
        python=platform.python_version(),
        outcomes=sorted(outcomes, key=lambda outcome: order[outcome.path]),
    )
    RESULTS.write_text(results.model_dump_json(indent=1) + "\n", "utf-8")
    PAGE.write_text(render(results), "utf-8")


def _version(python: str, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
