"""The conversation of a run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.events import EventView
from turnwise.api.open_values import OtherKinds
from turnwise.api.runs import UsageView
from turnwise.api.view import View


class MessageItem(View):
    """A message that became the task's pending message; a task's first item is the one that it began with.

    `event` is the number of the event that tells it, `responder` who gave it, and `model` the model that did. A message
    that is `rejected` was no valid answer and did not become the pending one; there are such only where they were asked
    for.
    """

    kind: Literal["message"] = "message"
    turn: int
    document: dict[str, Any]
    event: int = 0
    at: datetime | None = None
    responder: str | None = None
    model: str | None = None
    rejected: bool = False


class UnknownPart(View):
    """An item of a kind that a newer server has; its fields are in `model_extra`."""

    kind: str


class TaskItem(View):
    """One call of a task; `status` and `result` are null while it continues.

    `event` and `at` are those of its beginning, `cost` is what its own calls of models have cost in US dollars.
    """

    kind: Literal["task"] = "task"
    task: str
    event: int = 0
    at: datetime | None = None
    ended_event: int | None = None
    ended_at: datetime | None = None
    status: str | None = None
    cost: str = "0"
    items: list[Annotated[MessageItem | TaskItem, OtherKinds(UnknownPart)]] = Field([])
    result: dict[str, Any] | None = None


class TaskUsage(UsageView):
    """The use of one model by one task, in all its calls; also of answers that were not valid or were taken back."""

    task: str = Field(description="Path of the task.", examples=["triage/billing"])
    model: str | None


class TranscriptView(View):
    """The conversation; `root` is null before the run began.

    `last_event` is the last event that it has seen, so `events?after=` continues where it ends. `notes` are events that
    are no messages: the fork, retries, changed and reached limits, parked and resolved calls.
    """

    run: str
    status: str
    root: TaskItem | None
    last_event: int = 0
    usage: list[TaskUsage] = Field([])
    notes: list[EventView] = Field([])
