"""The conversation of a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.open_values import OtherKinds
from turnwise.api.view import View


class MessageItem(View):
    """A message that became the task's pending message; a task's first item is the one that it began with."""

    kind: Literal["message"] = "message"
    turn: int
    document: dict[str, Any]


class UnknownPart(View):
    """An item of a kind that a newer server has; its fields are in `model_extra`."""

    kind: str


class TaskItem(View):
    """One call of a task; `status` and `result` are null while it continues."""

    kind: Literal["task"] = "task"
    task: str
    status: str | None = None
    items: list[Annotated[MessageItem | TaskItem, OtherKinds(UnknownPart)]] = Field([])
    result: dict[str, Any] | None = None


class TranscriptView(View):
    """The conversation; `root` is null before the run began."""

    run: str
    status: str
    root: TaskItem | None
