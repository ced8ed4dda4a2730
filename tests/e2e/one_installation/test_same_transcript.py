"""The same scenario gives the same transcript in every way of running."""

from __future__ import annotations

import pytest
from tests.e2e import in_process, served
from tests.e2e.expected import assert_same, expected
from tests.e2e.installation import Distributed, Embedded
from tests.e2e.scenarios import SCENARIOS, Scenario

from turnwise.client import Client

pytestmark = pytest.mark.usefixtures("model")
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


@each_scenario
def test_a_scenario_ends_in_process_as_it_should(scenario: Scenario) -> None:
    transcript = expected(scenario)
    assert transcript.status_code == scenario.status_code, str(transcript)
    assert scenario.result in (transcript.result or {}).get("content", "")


def test_a_scenario_played_twice_in_process_has_the_same_transcript() -> None:
    quick = [scenario for scenario in SCENARIOS if scenario.task != "slow"]
    assert [in_process.play(scenario) for scenario in quick] == [expected(scenario) for scenario in quick]


@each_scenario
def test_an_embedded_run_has_the_transcript_of_one_in_process(scenario: Scenario, embedded: Embedded) -> None:
    with Client(embedded.url) as client:
        assert_same(served.play(client, scenario), expected(scenario))


@each_scenario
def test_a_run_whose_responders_make_the_moves_has_the_transcript_of_one_in_process(
    scenario: Scenario, carrying: Embedded
) -> None:
    with Client(carrying.url) as client:
        assert_same(served.play(client, scenario), expected(scenario))


@each_scenario
def test_a_distributed_run_has_the_transcript_of_one_in_process(scenario: Scenario, distributed: Distributed) -> None:
    with Client(distributed.url) as client:
        assert_same(served.play(client, scenario), expected(scenario))
