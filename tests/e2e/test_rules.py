"""Each numbered rule holds in embedded and in distributed runs: its scenarios go as they do in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from tests.e2e.expected import assert_same
from tests.e2e.installation import Embedded, distributed_on
from tests.e2e.served import follow
from tests.e2e.transcript import Transcript, from_events
from tests.rules import in_process
from tests.rules.catalogue import scenarios
from tests.rules.outcome import comparable
from tests.rules.scenario import Scenario, not_over_http
from tests.support.brokers import fresh_rabbitmq

from turnwise.base.ids import new_id
from turnwise.cli.text.messages import as_json
from turnwise.client import Client

APP = "tests.rules.application:app"
SCENARIOS = [each for each in scenarios() if not_over_http(each) is None]
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
# Runs that go on at the same time: conversations wait for each other's processes most of the time.
_AT_ONCE = 8

Played = Mapping[str, Future[tuple[Transcript, ...]]]


@pytest.fixture(scope="module")
def embedded_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """All scenarios, embedded."""
    installation = Embedded(tmp_path_factory.mktemp("rules"), APP)
    try:
        yield from played_at(installation.url)
    finally:
        installation.stop()


@pytest.fixture(scope="module")
def distributed_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """All scenarios, distributed."""
    folder = tmp_path_factory.mktemp("rules-rabbitmq")
    with distributed_on(fresh_rabbitmq, folder, APP) as installation:
        yield from played_at(installation.url)


def played_at(url: str) -> Iterator[Played]:
    """All scenarios on their way, some at once.

    They share a client made here: making one reads the environment, which pytest changes in its own thread.
    """
    with Client(url) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {each.id: pool.submit(play, client, each) for each in SCENARIOS}


def play(client: Client, scenario: Scenario) -> tuple[Transcript, ...]:
    """The transcripts of all runs of the scenario, as one session."""
    session, left = new_id("session"), list(scenario.answers)
    return tuple(_run(client, scenario, said, session, left) for said in scenario.says)


def _run(client: Client, scenario: Scenario, said: str, session: str, left: list[str]) -> Transcript:
    run = client.submit(
        scenario.id,
        said,
        turns=scenario.turns,
        max_cost=scenario.max_cost,
        max_tokens=scenario.max_tokens,
        deadline=scenario.max_time,
        session_id=session,
    )
    events = follow(client, run.id, tuple(left))
    return comparable(from_events(events, as_json(client.run(run.id))))


def assert_as_in_one_process(scenario: Scenario, found: tuple[Transcript, ...]) -> None:
    """Each run has the transcript of one in this process."""
    for one, wanted in zip(found, in_process.play(scenario).transcripts, strict=True):
        assert_same(one, wanted)


@each_scenario
def test_a_scenario_goes_embedded_as_in_one_process(scenario: Scenario, embedded_runs: Played) -> None:
    assert_as_in_one_process(scenario, embedded_runs[scenario.id].result())


@pytest.mark.postgres
@pytest.mark.rabbitmq
@each_scenario
def test_a_scenario_goes_distributed_as_in_one_process(scenario: Scenario, distributed_runs: Played) -> None:
    assert_as_in_one_process(scenario, distributed_runs[scenario.id].result())
