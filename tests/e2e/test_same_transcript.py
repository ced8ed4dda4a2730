"""The same scenario gives the same transcript in every way of running."""

from __future__ import annotations

from functools import cache

import pytest
from e2e import in_process, served
from e2e.scenarios import SCENARIOS, Scenario
from e2e.transcript import Transcript

from turnwise.client import Client
from turnwise.fake_llm.server import FakeLLMServer

pytestmark = pytest.mark.usefixtures("model")
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


@cache
def expected(scenario: Scenario) -> Transcript:
    """The transcript in this process, which is what the others are compared with."""
    return in_process.play(scenario)


@each_scenario
def test_a_scenario_ends_in_process_as_it_should(scenario: Scenario) -> None:
    transcript = expected(scenario)
    assert transcript.status_code == scenario.status_code, str(transcript)
    assert scenario.result in (transcript.result or {}).get("content", "")


def test_a_scenario_played_twice_in_process_is_the_same(model: FakeLLMServer) -> None:
    again = [in_process.play(scenario) for scenario in SCENARIOS if scenario.task != "slow"]
    assert again == [expected(scenario) for scenario in SCENARIOS if scenario.task != "slow"]


@each_scenario
def test_a_run_of_the_embedded_server_has_the_transcript_of_one_in_process(
    scenario: Scenario, embedded_client: Client
) -> None:
    assert_same(served.play(embedded_client, scenario), expected(scenario))


@each_scenario
def test_a_distributed_run_has_the_transcript_of_one_in_process(scenario: Scenario, client: Client) -> None:
    assert_same(served.play(client, scenario), expected(scenario))


def assert_same(found: Transcript, wanted: Transcript) -> None:
    """Compare as text first, because a difference of two long texts can be read."""
    assert str(found).split("\n") == str(wanted).split("\n")
    assert found == wanted
