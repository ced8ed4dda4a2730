"""The quick set: every promise holds in schedules in which things go wrong; `make chaos` runs them without end."""

from __future__ import annotations

import pytest
from tests.simulation.team import scenario

from turnwise.testing import Faults, Scenario
from turnwise.testing.plugin import Simulate

# Schedules of one test: with more and smaller tests, this file is begun before those of few tests.
_PART = 100
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("first", range(400, 600, _PART))
def test_the_promises_hold_whatever_goes_wrong(simulate: Simulate, first: int) -> None:
    report = simulate(scenario, schedules=_PART, first_seed=first)
    assert report.faults["kill_after_commit"] > 5
    assert min(report.faults["model_slow"], report.faults["model_error"]) > 0
    # Wherever a run goes on, a process was killed.
    for place in ("submit", "move", "claim", "reply", "register_worker"):
        assert report.killed_at[f"before commit: {place}"] + report.killed_at[f"after commit: {place}"] > 0, place


def test_nothing_is_found_where_nothing_goes_wrong(simulate: Simulate) -> None:
    quiet = Scenario(app=scenario.app, conversations=scenario.conversations, faults=lambda random: Faults(most=0))
    assert not simulate(quiet, schedules=5).faults
