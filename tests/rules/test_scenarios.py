"""Each scenario gives its transcript in every way of running, and the same one down to the last mark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.rules import in_process
from tests.rules.catalogue import scenarios
from tests.rules.outcome import Outcome
from tests.rules.scenario import RUN, RUN_ASYNC, SERVED, Scenario
from tests.rules.served import ServedPlayer, serving
from tests.rules.transcript import fits
from tests.support.databases import fresh_sqlite

from turnwise.record.store import Store


def played_in(way: str) -> list[object]:
    """The scenarios that are played in that way."""
    return [pytest.param(each, id=each.id) for each in scenarios() if way not in each.never]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlayer]:
    database = fresh_sqlite(tmp_path_factory.mktemp("rules") / "record.db")
    with serving(
        Store(database, lease_seconds=3_600), [each for each in scenarios() if SERVED not in each.never]
    ) as it:
        yield it
    database.close()


def assert_as_written(scenario: Scenario, outcome: Outcome) -> None:
    """The transcript and the prompts are as the scenario has them."""
    if not fits(scenario.transcript, outcome.lines):
        assert list(outcome.lines) == list(scenario.transcript)
    for name, prompt in scenario.sent.items():
        wanted = [line.strip() for line in prompt.strip().splitlines()]
        if not fits(wanted, outcome.sent[name]):
            assert outcome.sent[name] == wanted


@pytest.mark.parametrize("scenario", played_in(RUN))
def test_a_scenario_goes_as_written_with_run(scenario: Scenario) -> None:
    assert_as_written(scenario, in_process.play(scenario))


@pytest.mark.parametrize("scenario", played_in(RUN_ASYNC))
def test_a_scenario_goes_the_same_way_with_run_async(scenario: Scenario) -> None:
    outcome = in_process.play(scenario, in_event_loop=True)

    assert_as_written(scenario, outcome)
    if RUN not in scenario.never:
        assert outcome == in_process.play(scenario)


@pytest.mark.parametrize("scenario", played_in(SERVED))
def test_a_scenario_goes_the_same_way_when_it_is_served(served: ServedPlayer, scenario: Scenario) -> None:
    outcome = served.play(scenario)

    assert_as_written(scenario, outcome)
    if RUN not in scenario.never:
        assert outcome == in_process.play(scenario)
