"""Every scenario, played in this process, goes as recorded."""

from __future__ import annotations

import pytest

from .compare import compare
from .expected import expected_differences, parameters
from .model import Scenario, load_all


@pytest.mark.parametrize("scenario", parameters(load_all()))
def test_a_scenario_goes_as_recorded_with_run(scenario: Scenario) -> None:
    from .player import play

    difference = compare(play(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"


@pytest.mark.parametrize("scenario", parameters(load_all()))
def test_a_scenario_goes_as_recorded_with_run_async(scenario: Scenario) -> None:
    from .player import play_in_event_loop

    difference = compare(play_in_event_loop(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"


def test_only_existing_scenarios_are_expected_to_differ() -> None:
    assert set(expected_differences()) <= {scenario.id for scenario in load_all()}
