"""Plays a scenario with `Task.run`, and writes down what a served run's events would tell."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

from tests.e2e.application import app
from tests.e2e.scenarios import Scenario
from tests.e2e.seen import Seen
from tests.e2e.transcript import Transcript

from turnwise import Task


def play(scenario: Scenario) -> Transcript:
    """Run it in this process; what is raised becomes the transcript's error, as in a served run."""
    root = app.build(scenario.task)
    answers = iter(scenario.answers)
    for task in root.tree().tasks.values():
        task.agent.callbacks.get_user_response = lambda *_, **__: next(answers)
    return _run(root, scenario)


def play_session(scenarios: Sequence[Scenario]) -> list[Transcript]:
    """Run one after the other with the same task."""
    root = app.build(scenarios[0].task)
    return [_run(root, scenario) for scenario in scenarios]


def _run(root: Task, scenario: Scenario) -> Transcript:
    seen = Seen()
    with mock.patch("turnwise.tasks.task.LocalRun", seen.run_class()):
        try:
            root.run(scenario.message, turns=scenario.turns or -1, max_tokens=scenario.max_tokens or 0)
        except Exception as raised:  # noqa: BLE001 - whatever a scenario raises is what is compared
            return seen.failed(raised)
    return seen.finished()
