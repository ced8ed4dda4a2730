"""Every scenario goes as recorded when it is submitted, answered and read over HTTP, whatever serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .ahead import Ahead, embedded, over_rabbitmq, over_redis, playing
from .chosen import labels, third
from .compare import compare
from .expected import expected_differences, parameters
from .model import Scenario, load_all

# The first test of each waits for the processes to start.
pytestmark = pytest.mark.timeout(300)

# Brokers do not differ in what a scenario is about, only in how a word gets from one process to another.
EVERY_OTHER = third()[::2]


@pytest.fixture(scope="module")
def on_one_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(embedded, load_all(), tmp_path_factory.mktemp("golden-embedded")) as player:
        yield player


@pytest.fixture(scope="module")
def on_rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(over_rabbitmq, third(), tmp_path_factory.mktemp("golden-rabbitmq")) as player:
        yield player


@pytest.fixture(scope="module")
def on_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(over_redis, EVERY_OTHER, tmp_path_factory.mktemp("golden-redis")) as player:
        yield player


@pytest.mark.parametrize("scenario", parameters(load_all()))
def test_a_scenario_goes_as_recorded_embedded(scenario: Scenario, on_one_process: Ahead) -> None:
    _goes_as_recorded(scenario, on_one_process)


@pytest.mark.postgres
@pytest.mark.rabbitmq
@pytest.mark.parametrize("scenario", parameters(third()))
def test_a_scenario_goes_as_recorded_over_rabbitmq(scenario: Scenario, on_rabbitmq: Ahead) -> None:
    _goes_as_recorded(scenario, on_rabbitmq)


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.parametrize("scenario", parameters(EVERY_OTHER))
def test_a_scenario_goes_as_recorded_over_redis(scenario: Scenario, on_redis: Ahead) -> None:
    _goes_as_recorded(scenario, on_redis)


def test_what_is_distributed_is_a_third_of_everything_that_has_a_label() -> None:
    everything, chosen = load_all(), third()
    for label in {label for scenario in everything for label in labels(scenario)}:
        having = sum(label in labels(scenario) for scenario in everything)
        assert 3 * sum(label in labels(scenario) for scenario in chosen) >= having, label
    # A third, and what the rounding up of rare labels adds.
    assert len(everything) / 3 <= len(chosen) <= len(everything) / 2


def test_the_page_says_how_many_are_played() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text()

    assert f"over HTTP | all {len(load_all())} | none |" in page
    assert f"over HTTP | {len(third())} | none |" in page
    assert not expected_differences()


def _goes_as_recorded(scenario: Scenario, player: Ahead) -> None:
    difference = compare(player.play(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"
