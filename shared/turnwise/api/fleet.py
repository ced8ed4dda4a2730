"""The application's tasks, the workers, the queues, what is paused, and probes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from turnwise.api.open_values import OpenValues
from turnwise.api.view import View

PauseKind = Literal["queue", "task", "tenant"]


class TaskView(View):
    """A task that runs can be made of, with the paths of all tasks in its tree."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    name: str
    application: str
    version: str
    paths: list[str]
    keeps_conversation: bool = Field(description="Whether a run of a session goes on with the one before it.")
    # A gateway from before descriptions does not send it.
    description: Annotated[str, Field(json_schema_extra=lambda schema: schema.pop("default", None))] = Field(
        "", description="What the application says about it; empty where it says nothing."
    )


class WorkerView(View):
    """A process that takes work; `state` is alive, deaf (alive, but the broker brings it nothing), draining (told to
    end, it claims nothing more), dead (it fell silent), or what it was retired with."""

    id: str
    kind: str
    queues: list[str]
    host: str
    pid: int
    version: str
    state: str
    started_at: datetime
    beat_at: datetime
    leased: int = Field(description="Asks that it has claimed and not answered yet.")


class QueueView(View):
    """A queue's asks, and who serves it; `backlog` is what its workers are to be scaled by."""

    queue: str
    runnable: int
    leased: int
    delayed: int
    paused_asks: int = Field(description="Held by a pause of the queue, of a task or of a tenant; no backlog.")
    paused: bool = Field(description="Whether the queue itself is paused.")
    workers: int = Field(description="Living processes that serve it, but for those that are told to end.")
    backlog: int = Field(description="Runnable and leased.")
    oldest_age: float = Field(description="Seconds that the oldest runnable ask has waited.")


class PauseView(View):
    """A pause: nothing of the queue, task or tenant is begun or claimed until it ends."""

    kind: Annotated[PauseKind, OpenValues()]
    name: str = Field(description="Of the queue, the root task of runs, or the tenant.", examples=["llm"])
    since: datetime
    paused_by: str = Field(description="A key's prefix, a token's subject, or who ran a command.")
    reason: str | None


class HealthView(View):
    """A probe's answer."""

    status: Annotated[Literal["ok"], OpenValues()] = "ok"
