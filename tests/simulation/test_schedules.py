"""Schedules whose coordinators die at every point of a tick, in simulated time: each tick has one run or a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.simulation.team import app

from turnwise.base.ids import ids_from, new_id
from turnwise.processes.settings import ServiceSettings
from turnwise.record.schedules import firing
from turnwise.record.schedules.schedule import ScheduleRecord, ScheduleTerms
from turnwise.record.store import Store
from turnwise.schedules.catching_up import CatchUpPolicy
from turnwise.schedules.policies import OverlapPolicy
from turnwise.schedules.timing import Timing
from turnwise.testing.simulator.faults import Faults
from turnwise.testing.simulator.fleet import Fleet
from turnwise.testing.simulator.simulation import Installation
from turnwise.testing.simulator.world import World

pytestmark = pytest.mark.timeout(600)
_OVERLAPS: tuple[OverlapPolicy, ...] = ("allow", "queue", "cancel")
_SEEDS = 4
# Outcomes that the ticks of a schedule can have here.
_OUTCOMES = {"allow": {"submitted"}, "queue": {"submitted", "queued"}}
# Seconds with faults, and seconds in which the rest is made up for.
_TROUBLE, _CALM = 15.0, 15.0


def _faults(random: Random) -> Faults:
    """Kills around commits, and commits without an answer."""
    return Faults(
        kill_before_commit=random.choice((0.05, 0.1)),
        kill_after_commit=random.choice((0.05, 0.1)),
        commit_lost=0.05,
        answer_lost=0.05,
        database_away=0.02,
        message_lost=0.2,
        most=30,
        until=_TROUBLE,
    )


def _terms(overlap: OverlapPolicy) -> ScheduleTerms:
    policy = CatchUpPolicy(kind="all", limit=100)
    return ScheduleTerms(task="sums", run={"message": "go"}, timing=Timing(every=2.0), catch_up=policy, overlap=overlap)


def _played(folder: Path, seed: int) -> tuple[World, dict[str, list[dict[str, Any]]]]:
    """Three schedules of every two seconds, played; the tables in the end."""
    installation = Installation(app, folder)
    random = Random(seed)
    world = World(random, _faults(random))
    installation.begin(world)
    settings = ServiceSettings(_env_file=None)
    fleet = Fleet(world, installation.database, installation.apps, installation.apis, settings, installation.metrics)
    store = Store(installation.database)
    try:
        with ids_from(world.new_id), world.schedule.directed():
            fleet.start()
            mine = store.tenant("default")
            for overlap in _OVERLAPS:
                mine.schedules.create_schedule(overlap, _terms(overlap), "test")
            world.schedule.wait(_TROUBLE + _CALM)
            for overlap in _OVERLAPS:
                mine.schedules.pause_schedule(overlap, None, "test")
            tables = {name: store.inspector.table(name) for name in ("schedules", "schedule_ticks", "runs")}
        assert not [*fleet.errors, *world.schedule.failures]
    finally:
        installation.close()
    return world, tables


def _faults_found(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return what is not as it has to be: one tick for each time, each with one run or a reason."""
    runs = {run["id"]: run for run in tables["runs"]}
    of_ticks = [tick["run_id"] for tick in tables["schedule_ticks"] if tick["run_id"] is not None]
    found = [] if sorted(of_ticks) == sorted(runs) else [f"the runs {sorted(runs)} are not those of ticks: {of_ticks}"]
    for schedule in tables["schedules"]:
        mine = [tick for tick in tables["schedule_ticks"] if tick["schedule_id"] == schedule["id"]]
        due = sorted(tick["due_at"] for tick in mine)
        # Not one is left out, and none is there twice.
        steps = [round((at - schedule["created_at"]) / 2.0) for at in due]
        if steps != list(range(1, len(due) + 1)) or len(due) < (_TROUBLE + _CALM) / 2 - 2:
            found.append(f"{schedule['name']} ticked at {steps}")
        outcomes = {tick["outcome"] for tick in mine}
        if not outcomes <= _OUTCOMES.get(schedule["name"], outcomes):
            found.append(f"{schedule['name']} has ticks that are {outcomes}")
        keys = [runs[tick["run_id"]]["idempotency_key"] for tick in mine if tick["run_id"] in runs]
        times = [repr(tick["due_at"]) for tick in mine if tick["run_id"] in runs]
        found += [f"{key} is not of {at}" for key, at in zip(keys, times, strict=True) if not key.endswith(at)]
    return found


def test_each_tick_has_exactly_one_run_wherever_a_coordinator_dies(tmp_path: Path) -> None:
    killed: Counter[str] = Counter()
    for seed in range(_SEEDS):
        world, tables = _played(tmp_path, seed)
        killed += world.killed_at
        assert _faults_found(tables) == [], f"seed {seed}"

    for place in ("before commit: _fired", "after commit: _fired"):
        assert killed[place] > 0, killed


def test_a_tick_that_is_done_twice_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submitted = firing._Look._submitted

    def twice(self: Any, due: float, make_run: Any) -> Any:
        submitted(self, due, make_run)
        return submitted(self, due, make_run)

    # A second run has to have another key, or the record takes it for the same.
    monkeypatch.setattr(ScheduleRecord, "key_of", lambda self, due: f"{new_id('key')}:{due!r}")
    monkeypatch.setattr(firing._Look, "_submitted", twice)

    _, tables = _played(tmp_path, 0)

    assert "are not those of ticks" in str(_faults_found(tables))
