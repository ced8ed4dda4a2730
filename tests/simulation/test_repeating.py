"""A schedule is repeated exactly, and a failing one says how."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulation.strict import scenario as strict
from tests.simulation.team import scenario

from turnwise.testing import Outcome, SimulationFailed, Simulator

ROOT = Path(__file__).parents[2]


def same(first: Outcome, second: Outcome) -> bool:
    return first.story == second.story and first.history.tables == second.history.tables


def test_the_same_seed_gives_the_same_story_and_the_same_record() -> None:
    with Simulator(scenario) as simulator:
        seeds = range(5)
        before = [simulator.run(seed) for seed in seeds]
        again = [simulator.run(seed) for seed in reversed(seeds)]
    with Simulator(scenario) as another:
        third = [another.run(seed) for seed in seeds]
    for one, two, three in zip(before, reversed(again), third, strict=True):
        assert same(one, two)
        assert same(one, three)


def test_other_seeds_give_other_stories() -> None:
    with Simulator(scenario) as simulator:
        assert not same(simulator.run(1), simulator.run(2))


def test_a_failure_prints_the_command_that_repeats_it() -> None:
    with Simulator(strict) as simulator, pytest.raises(SimulationFailed) as first:
        simulator.run_many(
            range(200), repeat="python -m turnwise.testing.simulate tests.simulation.strict --seed {seed}"
        )
    printed = re.search(r"to repeat it: (.*)", str(first.value))
    assert printed is not None
    _, *words = shlex.split(printed[1])
    again = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert again.returncode == 1
    # Violations, story and command: word for word, in another process.
    assert again.stderr.strip() == str(first.value).strip()
