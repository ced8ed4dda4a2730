"""Every scenario, played in this process, goes as recorded."""

from __future__ import annotations

import pytest

from .compare import compare
from .expected import expected_differences
from .model import Scenario, load_all

_REASONS = expected_differences()


def _parameters() -> list[object]:
    return [
        pytest.param(
            scenario,
            id=scenario.id,
            # strict: a difference that has gone must leave the list.
            marks=[pytest.mark.xfail(reason=_REASONS[scenario.id], strict=True)] if scenario.id in _REASONS else [],
        )
        for scenario in load_all()
    ]


@pytest.mark.parametrize("scenario", _parameters())
def test_a_scenario_goes_as_recorded_with_run(scenario: Scenario) -> None:
    from .player import play

    difference = compare(play(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"


@pytest.mark.parametrize("scenario", _parameters())
def test_a_scenario_goes_as_recorded_with_run_async(scenario: Scenario) -> None:
    from .player import play_in_event_loop

    difference = compare(play_in_event_loop(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"


def test_only_existing_scenarios_are_expected_to_differ() -> None:
    assert set(_REASONS) <= {scenario.id for scenario in load_all()}
