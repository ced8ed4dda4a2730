"""Plays a scenario in this process, through `Task.run` or `Task.run_async`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from turnwise import Settings, ToolMessage, temporary_settings

from . import model
from .observer import Observer
from .record import Observation, ObservedRun
from .script import ScriptedHuman
from .team import Team
from .world import Watched, World

_PLAIN_TYPES: dict[str, type[Any]] = {"int": int, "str": str, "float": float, "bool": bool}


def play(scenario: model.Scenario) -> Observation:
    """Build the scenario's team and make its runs with `Task.run`."""
    observer, world = Observer(), World(ScriptedHuman(scenario.human))
    with temporary_settings(Settings(max_turns=scenario.turn_limit, quiet=True)):
        team = Team(scenario, Watched(world, observer))
        runs = [_run(team, observer, call) for call in scenario.runs]
    return _observation(world, observer, runs)


async def play_async(scenario: model.Scenario) -> Observation:
    """The same with `Task.run_async`."""
    observer, world = Observer(), World(ScriptedHuman(scenario.human))
    with temporary_settings(Settings(max_turns=scenario.turn_limit, quiet=True)):
        team = Team(scenario, Watched(world, observer))
        runs = [await _run_async(team, observer, call) for call in scenario.runs]
    return _observation(world, observer, runs)


def play_in_event_loop(scenario: model.Scenario) -> Observation:
    """`play_async` in an event loop of its own."""
    return asyncio.run(play_async(scenario))


def _run(team: Team, observer: Observer, call: model.RunCall) -> ObservedRun:
    arguments = run_arguments(team, call)
    try:
        result = team.root.run(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever a run raises is part of what is compared
        return observer.run_raised(error)
    return observer.run_ended(result, typed=call.return_type is not None)


async def _run_async(team: Team, observer: Observer, call: model.RunCall) -> ObservedRun:
    arguments = run_arguments(team, call)
    try:
        result = await team.root.run_async(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever a run raises is part of what is compared
        return observer.run_raised(error)
    return observer.run_ended(result, typed=call.return_type is not None)


def run_arguments(team: Team, call: model.RunCall) -> dict[str, Any]:
    """The arguments of `Task.run` for one run of a scenario."""
    message = team.document(call.message) if isinstance(call.message, model.Document) else call.message
    arguments: dict[str, Any] = {"msg": message}
    if call.turns is not None:
        arguments["turns"] = call.turns
    if call.return_type is not None:
        arguments["return_type"] = return_type_of(call, team.toolbox.tool_class)
    return arguments


def return_type_of(call: model.RunCall, tool_class: Callable[[str], type[ToolMessage]]) -> type[Any] | None:
    """The type that a run is to return, a plain one or a tool's class by its name; None if it names none."""
    if call.return_type is None:
        return None
    return _PLAIN_TYPES.get(call.return_type) or tool_class(call.return_type)


def _observation(world: World, observer: Observer, runs: list[ObservedRun]) -> Observation:
    return Observation(
        runs=tuple(runs),
        llm_calls={name: script.calls for name, script in world.models.items() if script.calls},
        human_asked=world.human.asked,
        llm_inputs={name: tuple(prompts) for name, prompts in observer.prompts.items() if prompts},
    )
