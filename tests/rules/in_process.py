"""Plays a scenario with `Task.run` or `Task.run_async`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from unittest import mock

from tests.e2e.seen import Seen
from tests.e2e.transcript import Transcript
from tests.rules.cast import Cast, Prompts
from tests.rules.outcome import Outcome, outcome, result_text
from tests.rules.scenario import Scenario

from turnwise import Settings, Task, temporary_settings


def play(scenario: Scenario, *, in_event_loop: bool = False) -> Outcome:
    """All runs of the scenario on one team; what is raised ends that run."""
    prompts: Prompts = {}
    root = scenario.team(Cast(prompts))
    answers = iter(scenario.answers)
    for task in root.tree().tasks.values():
        task.agent.callbacks.get_user_response = lambda *_, **__: _next(answers)
    with temporary_settings(Settings(max_turns=scenario.max_turns, quiet=True)):
        played = [_run(scenario, root, said, in_event_loop) for said in scenario.says]
    left = list(answers)
    assert not left, f"the human was never asked for {left}"
    return outcome(scenario, played, prompts)


def _run(scenario: Scenario, root: Task, said: Any, in_event_loop: bool) -> tuple[Transcript, str]:
    limits: dict[str, Any] = {
        "turns": scenario.turns or -1,
        "max_cost": scenario.max_cost or 0,
        "max_tokens": scenario.max_tokens or 0,
        "max_time": scenario.max_time or 0,
        "return_type": scenario.return_type,
    }
    seen = Seen()
    with mock.patch("turnwise.tasks.task.LocalRun", seen.run_class()):
        try:
            value = asyncio.run(root.run_async(said, **limits)) if in_event_loop else root.run(said, **limits)
        except Exception as raised:  # noqa: BLE001 - whatever a scenario raises is what is compared
            transcript = seen.failed(raised)
            return transcript, result_text(transcript, None, scenario)
    transcript = seen.finished()
    return transcript, result_text(transcript, value, scenario)


def _next(answers: Iterator[str]) -> str:
    answer = next(answers, None)
    assert answer is not None, "the human was asked once more than the scenario has answers"
    return answer
