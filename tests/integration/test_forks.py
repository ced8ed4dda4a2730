"""Forks of random teams at every event, with the same answers, go the same way."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.databases import fresh_sqlite
from tests.support.machine_team import Member, build_team
from tests.support.past_parts import Stage, told
from tests.support.property_settings import examples
from tests.unit.machine.test_machine_properties import openings, teams

from turnwise import Task
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.store import Store
from turnwise.serving.replay import replay


@contextmanager
def new_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        database = fresh_sqlite(Path(folder) / "record.db")
        yield Store(database, lease_seconds=3_600)
        database.close()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with new_store() as made:
        yield made


# Shrinking a whole team takes minutes, and its events say where it went another way.
@settings(examples(20), phases=[Phase.explicit, Phase.generate])
@given(team=teams, opening=openings, with_reply=st.booleans(), data=st.data())
def test_a_fork_at_any_event_goes_as_the_run_did(
    store: Store, team: list[Member], opening: str | None, with_reply: bool, data: st.DataObject
) -> None:
    def build() -> Task:
        return build_team(team)

    # given
    stage = Stage(store, build, ("", "yes", "q"), with_reply=with_reply)
    run = stage.play(opening, max_turns=5, turns=6)
    if not run.ended:
        return  # nobody ever answers, which the machine does not count
    whole = told(store, run)

    # when
    at = data.draw(st.integers(1, run.last_seq))
    fork = stage.fork(run.id, at)
    ended = stage.go_on(fork.id)

    # then
    assert told(store, ended) == whole
    assert ended.calls == 0 or ended.cost <= run.cost
    with PrivateRecord() as scratch:
        for each in (run.id, fork.id):
            result = replay(stage.app, json.loads(json.dumps(store.inspector.export(each))), scratch)
            assert result.same, result
