"""Attributes of agents and tasks last when the processes that hold the work are killed with -9, in turns and between.

All programs run at once, distributed as many of them as one worker answers at a time. Each is stopped in its model's
second answer, where those who move and those who answer are killed, and once more in the third one, or in a handler,
where those who answer are killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import kept_attributes
from tests.e2e.installation import ONE_WORKER, Distributed, Embedded, Role, distributed_on
from tests.e2e.kept_attributes import SCENARIOS, WAITS_IN_A_HANDLER
from tests.e2e.test_rules import assert_as_in_one_process, play
from tests.e2e.transcript import Transcript
from tests.e2e.waiting import until
from tests.rules import in_process
from tests.rules.cast import Cast
from tests.rules.scenario import Scenario
from tests.rules.transcript import fits
from tests.support.brokers import fresh_rabbitmq

from turnwise import Settings, Task, temporary_settings
from turnwise.agents.attributes.encoding import NotDataError
from turnwise.agents.attributes.unread import DELETED
from turnwise.agents.own_attributes import template_of
from turnwise.client import Client
from turnwise.record.database.database import Database
from turnwise.record.store import Store

APP = "tests.e2e.kept_attributes:app"
# Seconds for all programs to come so far, on a machine that is busy with other tests.
_PATIENCE = 180.0
pytestmark = pytest.mark.timeout(600)
_MARKS = [pytest.mark.postgres, pytest.mark.rabbitmq]
# A worker's threads, of which each program that waits takes one.
_THREADS = 8
_STEP = ceil((len(SCENARIOS) - 1) / (_THREADS - 1))
PROGRAMS = {"embedded": SCENARIOS, "distributed": [*SCENARIOS[:-1:_STEP], WAITS_IN_A_HANDLER]}
_HOLDS = ("model-1", "model-2", "handler")
# Of messages and tools, what is not the same in another run: ids, and which fields of a tool were given.
_OF_MESSAGES = ("id", "parent_id", "child_id", "agent_id", "set")


def _each(programs: Mapping[str, list[Scenario]]) -> pytest.MarkDecorator:
    """Each program at each place where it is played."""
    cases = [
        pytest.param(place, each, id=f"{place}-{each}", marks=_MARKS if place == "distributed" else ())
        for place, several in programs.items()
        for each in several
    ]
    return pytest.mark.parametrize(("killed", "scenario"), cases, indirect=["killed"])


@dataclass(frozen=True, kw_only=True)
class Place:
    """An installation, and how processes of it are killed: those who move and answer, and those who answer."""

    url: str
    database: str
    kill_both: Callable[[], object]
    kill_answering: Callable[[], object]
    # Without replacing them.
    end: Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Killed:
    """The scenarios that were played while processes were killed.

    `held` has (place, scenario) of all who were waiting then, `kept` the attributes of each scenario's first agent
    that are on record.
    """

    played: Mapping[str, tuple[Transcript, ...]]
    held: frozenset[tuple[str, str]]
    kept: Mapping[str, dict[str, Any]]


@pytest.fixture(scope="module")
def played() -> dict[str, Killed]:
    """Return what was played so far, by place."""
    return {}


@pytest.fixture
def killed(
    request: pytest.FixtureRequest, played: dict[str, Killed], tmp_path_factory: pytest.TempPathFactory
) -> Killed:
    place: str = request.param
    if place not in played:
        folder = tmp_path_factory.mktemp("kept")
        with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
            patch.setenv(kept_attributes.FOLDER, str(folder))
            for each in _HOLDS:
                (folder / f"hold-{each}").touch()
            played[place] = _played(_place(place, folder, stack), PROGRAMS[place], folder)
    return played[place]


def _place(kind: str, folder: Path, stack: ExitStack) -> Place:
    if kind == "embedded":
        server = Embedded(folder, APP, concurrency=str(len(SCENARIOS) + 4))
        stack.callback(lambda: server.stop())
        kill = server.kill_and_restart
        end = lambda: server.process.kill()  # noqa: E731 - the process is another one after a kill
        return Place(url=server.url, database=server.database, kill_both=kill, kill_answering=kill, end=end)
    several = stack.enter_context(distributed_on(fresh_rabbitmq, folder, APP, roles=ONE_WORKER))
    return Place(
        url=several.url,
        database=several.database,
        kill_both=lambda: _killed(several, "coordinator", "worker"),
        kill_answering=lambda: _killed(several, "worker"),
        end=lambda: _end(several),
    )


def _end(several: Distributed) -> None:
    for process in several.processes.values():
        process.kill()


def _killed(several: Distributed, *roles: Role) -> None:
    """Kill these with -9, all before the first is replaced."""
    for role in roles:
        several.processes[role].kill()
    for process in [several.launch(role) for role in roles]:
        process.wait_ready()


def _played(place: Place, programs: list[Scenario], folder: Path) -> Killed:
    with Client(place.url) as client, ThreadPoolExecutor(len(programs)) as pool:
        playing = {each.id: pool.submit(play, client, each) for each in programs}
        # Those to whose conversation a rule adds an answer have two by then.
        held = _stopped(folder, playing, "model-1", "model-2")
        place.kill_both()
        (folder / "hold-model-1").unlink()
        held |= _stopped(folder, playing, "model-2", "handler")
        place.kill_answering()
        for each in ("model-2", "handler"):
            (folder / f"hold-{each}").unlink()
        played = {name: future.result() for name, future in playing.items()}
        runs = {run.task: run.id for run in client.runs(limit=100).items}
    place.end()
    return Killed(played=played, held=frozenset(held), kept=_kept(place.database, runs))


def _stopped(folder: Path, playing: Mapping[str, Future[Any]], *places: str) -> set[tuple[str, str]]:
    """Return the runs that wait, once all that have not ended do."""

    def look() -> set[tuple[str, str]] | None:
        held = {(each, name) for each in places for name in playing if (folder / f"at-{each}-{name}").exists()}
        return held if {name for _, name in held} >= {name for name, one in playing.items() if not one.done()} else None

    return until(look, f"all to be at {' or '.join(places)}", patience=_PATIENCE)


def _kept(url: str, runs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    database = Database(url)
    try:
        kept = {}
        for name, run in runs.items():
            with Store(database).coordinator.locked(run) as transaction:
                kept[name] = (transaction.agent("Boss").record or {}).get("attributes") or {}
        return kept
    finally:
        database.close()


@_each(PROGRAMS)
def test_attributes_last_when_processes_are_killed(scenario: Scenario, killed: Killed) -> None:
    assert fits(scenario.transcript, in_process.play(scenario).lines)
    assert_as_in_one_process(scenario, killed.played[scenario.id])


@_each({place: [WAITS_IN_A_HANDLER] for place in PROGRAMS})
def test_the_processes_were_killed_while_they_held_the_work(scenario: Scenario, killed: Killed) -> None:
    held = [place for place, _ in killed.held]
    assert ("handler", scenario.id) in killed.held
    # Most programs have that many answers.
    assert held.count("model-1") > len(killed.played) / 2
    assert held.count("model-2") > len(killed.played) / 4


@_each({place: [each for each in several if len(each.says) == 1] for place, several in PROGRAMS.items()})
def test_the_record_has_the_attributes_that_a_script_ends_with(scenario: Scenario, killed: Killed) -> None:
    assert _without_ids(killed.kept[scenario.id]) == _without_ids(_of_a_script(scenario))


def _of_a_script(scenario: Scenario) -> dict[str, Any]:
    """The attributes that the first agent of the scenario has after `Task.run`, as they would be on record."""
    root: Task[Any] = scenario.team(Cast({}))
    agent, tree = root.agent, root.tree()
    template = template_of(agent, tree.registry())
    del agent._template
    for task in tree.tasks.values():
        task.agent.callbacks.get_user_response = lambda *_, **__: scenario.answers[0]
    with temporary_settings(Settings(quiet=True)):
        root.run(scenario.says[0], turns=scenario.turns or -1)
    found: dict[str, Any] = dict.fromkeys({*template.fixed, *template.pristine} - vars(agent).keys(), DELETED)
    encoder = template.encoder(agent)
    for name in sorted(vars(agent).keys() - template.own):
        try:
            kept = encoder.attribute(name, vars(agent)[name])
        except NotDataError:
            continue  # a cached property
        if kept != template.before(name):
            found[name] = kept
    return found


def _without_ids(kept: Any) -> Any:
    """The attributes without what messages in them have of their run."""
    if isinstance(kept, list):
        return [_without_ids(item) for item in kept]
    if isinstance(kept, dict):
        return {name: _without_ids(item) for name, item in kept.items() if name not in _OF_MESSAGES}
    return kept
