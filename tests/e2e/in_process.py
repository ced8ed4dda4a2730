"""Plays a scenario with `Task.run`, and writes down what a served run's events would tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

from tests.e2e.application import app
from tests.e2e.scenarios import Scenario
from tests.e2e.transcript import WHAT, Line, Names, Transcript

from turnwise import ChatDocument, InfiniteLoopException, Task
from turnwise.core.actions import Trace
from turnwise.messages.wire import encode_document
from turnwise.tasks.local_run import LocalRun


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
    seen = _Seen()
    with mock.patch("turnwise.tasks.task.LocalRun", seen.run_class()):
        try:
            result = root.run(scenario.message, turns=scenario.turns or -1, max_tokens=scenario.max_tokens or 0)
        except Exception as raised:  # noqa: BLE001 - whatever a scenario raises is what is compared
            return seen.failed(raised)
    return seen.transcript(seen.lines[-1].by, seen.document(result))


class _Seen:
    """What one run tells: documents as they are at that moment, because they may still be changed."""

    def __init__(self) -> None:
        self._names = Names()
        self.lines: list[Line] = []

    def run_class(self) -> type[LocalRun]:
        """A driver that tells this what it tells the tasks' logs."""
        seen = self

        class Watched(LocalRun):
            def _observe(self, item: Trace) -> None:
                seen._add(item)
                super()._observe(item)

        return Watched

    def document(self, doc: ChatDocument | None) -> dict[str, Any] | None:
        """The document as it is compared."""
        return self._names.document(encode_document(doc) if doc is not None else None)

    def transcript(
        self, status_code: str, result: dict[str, Any] | None, error: tuple[str, str] | None = None
    ) -> Transcript:
        return Transcript(lines=tuple(self.lines), status_code=status_code, result=result, error=error)

    def failed(self, raised: Exception) -> Transcript:
        """The transcript of a run that raised; a loop's result is the last end's, other errors have none."""
        error = (type(raised).__name__, str(raised))
        if not isinstance(raised, InfiniteLoopException):
            return self.transcript("ERROR", None, error)
        return self.transcript("INF_LOOP", self.lines[-1].document, error)

    def _add(self, item: Trace) -> None:
        by = item.status.value if item.kind == "finished" and item.status else item.responder
        line = Line(what=WHAT[item.kind], task=item.path, turn=item.turn, by=by, document=self.document(item.document))
        self.lines.append(line)
