"""Tasks that bring their own `done`, `valid` or `result`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode

if TYPE_CHECKING:
    from turnwise.tasks.task import Task


def _itself(path: str, task: Task) -> Task:
    return task


class TaskOverrides:
    """Lets the machine ask the tasks that override a rule; the others are None to it.

    `taken` returns the object that is asked in place of a task.
    """

    def __init__(self, tasks: dict[str, Task], base: type[Task], taken: Callable[[str, Task], Task] = _itself) -> None:
        self._taken = taken
        self._done = {p: t for p, t in tasks.items() if type(t).done is not base.done}
        self._valid = {p: t for p, t in tasks.items() if type(t).valid is not base.valid}
        self._result = {p: t for p, t in tasks.items() if type(t).result is not base.result}

    def __bool__(self) -> bool:
        return bool(self._done or self._valid or self._result)

    def done(
        self, spec: TaskSpec, state: TaskState, facts: Facts, doc: ChatDocument | None, responder: str | None
    ) -> tuple[bool, StatusCode] | None:
        """The task's own verdict, or None if it has none."""
        own = self._done.get(spec.path)
        if own is None:
            return None
        task = self._taken(spec.path, own)
        with task.viewing(spec, state, facts):
            return task.done(doc, responder)

    def valid(
        self, spec: TaskSpec, state: TaskState, facts: Facts, doc: ChatDocument | None, responder: str
    ) -> bool | None:
        """The task's own verdict, or None if it has none."""
        own = self._valid.get(spec.path)
        if own is None:
            return None
        task = self._taken(spec.path, own)
        with task.viewing(spec, state, facts):
            return task.valid(doc, responder)

    def result(
        self, spec: TaskSpec, state: TaskState, facts: Facts, status: StatusCode
    ) -> tuple[ChatDocument | None] | None:
        """A tuple of the task's own result, or None if it has none."""
        own = self._result.get(spec.path)
        if own is None:
            return None
        task = self._taken(spec.path, own)
        with task.viewing(spec, state, facts):
            return (task.result(status),)
