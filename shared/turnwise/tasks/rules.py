"""The rules of a task that an application may override: done, valid, result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.machine.done import answer_valid, task_done
from turnwise.machine.facts import Facts
from turnwise.machine.result import task_result
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.tasks.definition import R, TaskDefinition

View = tuple[TaskSpec, TaskState, Facts]


class TaskRules(TaskDefinition[R]):
    """A task's judgement of a run's state: the one it is stepped through, was run to last, or is asked about."""

    _view: View | None = None

    @contextmanager
    def viewing(self, spec: TaskSpec, state: TaskState, facts: Facts) -> Iterator[None]:
        """Let `done`, `valid`, `result` and the properties below speak of this state."""
        before, self._view = self._view, (spec, state, facts)
        try:
            yield
        finally:
            self._view = before or self._view

    @property
    def pending_message(self) -> ChatDocument | None:
        """The message that waits for an answer; after a run, the last one. None before the first."""
        return self._view[1].pending if self._view is not None else None

    @property
    def pending_sender(self) -> str:
        """Return who sent the pending message: an entity's value or a sub-task's name; "" before the first run."""
        return self._view[1].pending_sender if self._view is not None else ""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        """Return whether the task would be done with the answer `result` of `r` (default: the pending message)."""
        spec, state, facts = self._seen()
        return task_done(spec, state, facts, result, r)

    def valid(self, result: ChatDocument | None, r: str) -> bool:
        """Return whether the answer `result` of responder `r` is taken."""
        spec, _, _ = self._seen()
        return (result is not None and self.done(result, r)[0]) or answer_valid(spec, result)

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        """Return what the task hands to its caller when it ends with `status` (default: OK)."""
        spec, state, facts = self._seen()
        return task_result(spec, state, facts, status or StatusCode.OK)

    def _seen(self) -> View:
        if self._view is None:
            raise RuntimeError(f"{self!r} has not run: call run, or init and step, before done, valid and result")
        return self._view
