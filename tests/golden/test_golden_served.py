"""Every scenario goes as recorded when it is served: over a record, by processes that share nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.databases import fresh_sqlite

from turnwise.record.store import Store

from .compare import compare
from .expected import parameters
from .model import Scenario, load_all
from .served_player import ServedPlayer


@pytest.fixture(scope="module", params=[False, True], ids=["moved by a coordinator", "carried by a worker"])
def player(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlayer]:
    database = fresh_sqlite(tmp_path_factory.mktemp("golden") / "record.db")
    yield ServedPlayer(Store(database, lease_seconds=3_600), carried=request.param)
    database.close()


@pytest.mark.parametrize("scenario", parameters(load_all()))
def test_a_scenario_goes_as_recorded_when_it_is_served(player: ServedPlayer, scenario: Scenario) -> None:
    difference = compare(player.play(scenario), scenario.golden)

    assert difference is None, f"{scenario.why}\n{difference}"
