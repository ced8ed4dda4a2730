"""The inbox of humans."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.details import AsGiven, ErrorDetail
from turnwise.api.open_values import OpenValues
from turnwise.api.view import View


class QuestionView(View):
    """A question that waits for a human; `task` is the path of the task that asks."""

    kind: Literal["question"] = "question"
    id: str
    run: str
    task: str
    asked_at: datetime
    text: str
    document: dict[str, Any] | None


class HolderView(View):
    """The worker that was at it; host and pid for as long as they are remembered."""

    id: str
    host: str | None = None
    pid: int | None = None


class ParkedView(View):
    """An ask that no one may answer before a person has said how to continue.

    With the reason `unknown_outcome`, a worker was lost in the middle of a handler that may not be called twice, or the
    handler was cancelled, which `error` tells then. With `attempts_exhausted`, worker after worker was lost with the
    ask.
    """

    kind: Literal["parked"] = "parked"
    id: str
    run: str
    task: str
    parked_at: datetime
    agent: str
    responder: Annotated[Literal["llm", "agent"], OpenValues()]
    reason: Annotated[Literal["unknown_outcome", "attempts_exhausted"], OpenValues()]
    tool: str | None = Field(None, description="Whose handler was called, or a method of the agent's own.")
    arguments: dict[str, Any] | None = Field(None, description="The tool's fields.")
    idempotency_key: str | None = Field(None, description="Of the call; what the handler did may be found by it.")
    began_at: datetime | None = None
    worker: HolderView | None = None
    attempts: int = Field(description="How often the ask was claimed.")
    error: Annotated[ErrorDetail, AsGiven()] | None = None


class InboxCountView(View):
    """The number of open questions and of parked asks; both counts and `latest_at` stay the same while no item comes
    or goes."""

    questions: int
    parked: int
    latest_at: datetime | None = Field(description="When the latest of them came; null if there is none.")


Item = Annotated[QuestionView | ParkedView, Field(discriminator="kind")]


class UnknownItem(View):
    """An item of a kind that a newer server lists; what else it says is in `model_extra`."""

    kind: str
    id: str
    run: str
    task: str


InboxItem = Annotated[QuestionView | ParkedView | UnknownItem, Field(union_mode="left_to_right")]
