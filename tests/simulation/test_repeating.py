"""A schedule is repeated exactly, and a failing one says how."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.simulation.strict import scenario as strict
from tests.simulation.team import scenario

from turnwise.errors import ConfigurationError
from turnwise.testing import Outcome, SimulationFailed, Simulator
from turnwise.testing.simulate import main

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


def test_a_simulation_of_nothing_is_refused() -> None:
    told = {
        "has no conversations; give each as a pair of task and message": replace(scenario, conversations=[]),
        "a conversation is 'good'; expected a pair of task and message": replace(scenario, conversations=["good"]),  # type: ignore[list-item]
        "only='none' is the task of no conversation; those are of": replace(scenario, only="none"),
        "at_once is 0; expected at least 1": replace(scenario, at_once=0),
        "there is no setting 'lease'": replace(scenario, settings={"lease": 3}),
        "the application of the scenario is 'app'; expected an App": replace(scenario, app="app"),  # type: ignore[arg-type]
    }
    for said, nothing in told.items():
        with pytest.raises(ConfigurationError, match=said):
            Simulator(nothing)
    with Simulator(scenario) as simulator, pytest.raises(ConfigurationError, match="no schedule was run"):
        simulator.run_many([])


@pytest.mark.parametrize("number", ["0", "-3", "x"])
def test_a_command_that_runs_no_schedule_is_refused(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["tests.simulation.team:scenario", "--schedules", number])
    assert end.value.code == 2
    assert "--schedules" in capsys.readouterr().err


def test_other_seeds_give_other_stories() -> None:
    with Simulator(scenario) as simulator:
        assert not same(simulator.run(1), simulator.run(2))


def test_a_failure_prints_the_command_that_repeats_it() -> None:
    with Simulator(strict) as simulator, pytest.raises(SimulationFailed) as first:
        simulator.run_many(
            range(200), repeat="python -m turnwise.testing.simulate tests.simulation.strict --seed {seed}"
        )
    with (
        Simulator(strict) as simulator,
        pytest.raises(SimulationFailed, match=re.escape("pytest 'a[{\"x\": 1}]' --seed=")),
    ):
        simulator.run_many([first.value.outcome.seed], repeat="pytest 'a[{\"x\": 1}]' --seed={seed}")
    printed = re.search(r"to repeat it: (.*)", str(first.value))
    assert printed is not None
    _, *words = shlex.split(printed[1])
    again = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert again.returncode == 1
    # Violations, story and command: word for word, in another process.
    assert again.stderr.strip() == str(first.value).strip()
