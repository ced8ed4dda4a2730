"""Recorded runs of the scenarios are decided again as they were, and where a rule was changed replay says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.rules.catalogue import scenarios
from tests.rules.scenario import SERVED, Scenario
from tests.rules.served import ServedPlayer, application, serving
from tests.support.databases import fresh_sqlite

from turnwise.machine import after_step, done, step
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.store import Store
from turnwise.record.values.records import RunFilter
from turnwise.serving.replay import Replayed, replay

_SERVED = [each for each in scenarios() if SERVED not in each.never]
Replay = Callable[[Scenario], list[Replayed]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path_factory.mktemp("rules") / "record.db")
    yield Store(database, lease_seconds=3_600)
    database.close()


@pytest.fixture(scope="module")
def player(store: Store) -> Iterator[ServedPlayer]:
    with serving(store, _SERVED) as it:
        yield it


@pytest.fixture(scope="module")
def played_again(store: Store, player: ServedPlayer) -> Iterator[Replay]:
    """Plays a scenario, and replays each of its runs from what was exported, with an application of its own."""
    app = application(_SERVED, {})

    with PrivateRecord() as scratch:

        def play(scenario: Scenario) -> list[Replayed]:
            of_scenario = RunFilter(task=scenario.id)
            before = {run.id for run in store.inspector.runs(of_scenario, limit=200)[0]}
            player.play(scenario)
            new = [run.id for run in store.inspector.runs(of_scenario, limit=200)[0] if run.id not in before]
            assert new
            exports = [json.loads(json.dumps(store.inspector.export(run_id))) for run_id in new]
            return [replay(app, found, scratch) for found in exports]

        yield play


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.id) for each in _SERVED])
def test_a_recorded_scenario_is_decided_again_as_it_was(played_again: Replay, scenario: Scenario) -> None:
    for result in played_again(scenario):
        assert result.same, result
        assert result.decisions >= 2


def _never(*_: Any, **__: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("scenario_id", "module", "name", "recorded", "now"),
    [
        ("a-conversation-that-repeats-itself-is-ended", after_step, "is_loop", "task.finished", "turn.asked"),
        ("done-counts-within-words-and-within-the-json-of-a-tool", done, "says_done", "task.finished", "turn.asked"),
        ("a-blank-message-is-not-for-the-model", step, "model_may_answer", "turn.asked", "turn.none"),
    ],
)
def test_replay_says_where_a_changed_rule_decides_otherwise(
    store: Store,
    player: ServedPlayer,
    monkeypatch: pytest.MonkeyPatch,
    scenario_id: str,
    module: Any,
    name: str,
    recorded: str,
    now: str,
) -> None:
    # given
    player.play(next(each for each in _SERVED if each.id == scenario_id))
    [run], _ = store.inspector.runs(RunFilter(task=scenario_id), limit=1)
    found = store.inspector.export(run.id)

    # when
    monkeypatch.setattr(module, name, _never)
    with PrivateRecord() as scratch:
        result = replay(application(_SERVED, {}), found, scratch)

    # then
    difference = result.difference
    assert difference is not None
    assert difference.recorded is not None
    assert difference.now is not None
    assert (difference.recorded["type"], difference.now["type"]) == (recorded, now)
    assert found["events"][difference.event - 1]["type"] == recorded
