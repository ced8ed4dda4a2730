"""`python -m turnwise.testing.simulate TARGET`: schedules from the command line, a number of them or without end.

TARGET is `module:name` of a `Scenario`, or of an `App` with `--task` and `--message`.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from turnwise.app import App
from turnwise.errors import ConfigurationError
from turnwise.testing.simulator.simulator import Report, Scenario, SimulationFailed, Simulator

# Seconds between two lines that tell how far it is.
_TOLD_EVERY = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the schedules; 0 if all kept the promises, 1 at the first that did not, 2 for a bad command."""
    given = _parser().parse_args(arguments)
    try:
        scenario = load_scenario(given.target, given.task, given.message)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        with Simulator(scenario) as simulator:
            report = simulator.run_many(_seeds(given), repeat=_command(given), progress=_Progress())
    except SimulationFailed as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 0
    sys.stdout.write(f"{report}\n")
    return 0


def load_scenario(target: str, task: str | None = None, message: str | None = None) -> Scenario:
    """The scenario that `module:name` names; of an application, the one conversation that is given.

    Raises `ConfigurationError` for a target that is neither.
    """
    module, _, name = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name or "scenario", None)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"there is no module {error.name!r}, which {target!r} needs") from error
    if isinstance(found, Scenario):
        return found
    if isinstance(found, App) and task and message:
        return Scenario(app=found, conversations=[(task, message)])
    what = "an App; say --task and --message" if isinstance(found, App) else repr(found)
    raise ConfigurationError(f"{target!r} names {what}; expected a turnwise.testing.Scenario, or an App with a task")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} schedules; expected at least 1")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m turnwise.testing.simulate",
        description="Run schedules of an application in which things go wrong, and check what is promised.",
    )
    parser.add_argument("target", help="module:name of a Scenario, or of an App")
    parser.add_argument("--task", help="of an App: the task to run")
    parser.add_argument("--message", help="of an App: the message to begin with")
    parser.add_argument("--seed", type=int, help="run only this schedule")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--schedules", type=_positive, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--endless", action="store_true", help="go on until one fails or Ctrl-C")
    return parser


def _seeds(given: argparse.Namespace) -> Iterable[int]:
    if given.seed is not None:
        return [given.seed]
    if given.endless:
        return itertools.count(given.first)
    return range(given.first, given.first + given.schedules)


def _command(given: argparse.Namespace) -> str:
    words = ["python", "-m", "turnwise.testing.simulate", given.target]
    for option in ("task", "message"):
        if (value := getattr(given, option)) is not None:
            words += [f"--{option}", value]
    return shlex.join(words) + " --seed {seed}"


class _Progress:
    """Tells now and then how far it is."""

    def __init__(self) -> None:
        self._begun = self._told = time.monotonic()

    def __call__(self, report: Report) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY:
            self._told = now
            sys.stderr.write(f"{report.schedules / (now - self._begun):.1f} schedules/s; {report}\n")


if __name__ == "__main__":
    sys.exit(main())
