"""Every scenario goes as recorded when it is submitted, answered and read over HTTP, whatever serves it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .ahead import Ahead, embedded, over_rabbitmq, over_redis, playing
from .chosen import labels, third
from .compare import compare
from .expected import parameters
from .model import Scenario, load_all

# The first test of each waits for the processes to start.
pytestmark = pytest.mark.timeout(300)

# Their later runs go on with the conversation of the earlier one.
_NOT_YET = frozenset(scenario.id for scenario in load_all() if scenario.continues)
ALL = [scenario for scenario in load_all() if scenario.id not in _NOT_YET]
THIRD = [scenario for scenario in third() if scenario.id not in _NOT_YET]
# Brokers do not differ in what a scenario is about, only in how a word gets from one process to another.
EVERY_OTHER = THIRD[::2]


@pytest.fixture(scope="module")
def on_one_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(embedded, ALL, tmp_path_factory.mktemp("golden-embedded")) as player:
        yield player


@pytest.fixture(scope="module")
def on_rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(over_rabbitmq, THIRD, tmp_path_factory.mktemp("golden-rabbitmq")) as player:
        yield player


@pytest.fixture(scope="module")
def on_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    with playing(over_redis, EVERY_OTHER, tmp_path_factory.mktemp("golden-redis")) as player:
        yield player


@pytest.mark.parametrize("scenario", parameters(ALL))
def test_a_scenario_goes_as_recorded_embedded(scenario: Scenario, on_one_process: Ahead) -> None:
    _goes_as_recorded(scenario, on_one_process)


@pytest.mark.postgres
@pytest.mark.rabbitmq
@pytest.mark.parametrize("scenario", parameters(THIRD))
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


def _goes_as_recorded(scenario: Scenario, player: Ahead) -> None:
    difference = compare(player.play(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"
