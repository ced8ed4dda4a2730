"""A task of the application: its tree, its agents, and the tools that they have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.fleet import TaskView
from turnwise.api.open_values import OpenValues
from turnwise.api.runs import LimitsView
from turnwise.api.view import View


class ToolView(View):
    """A tool of an agent: the model may use it, or a handler of the agent answers it, or both."""

    name: str
    purpose: str
    parameters: dict[str, Any] | None = Field(
        description="The JSON schema of its fields; null if a field has a type that no schema describes."
    )
    usable: bool = Field(description="Whether the agent's model may use it.")
    handled: bool = Field(description="Whether the agent has a handler for it.")
    effect: Annotated[Literal["read_only", "idempotent", "once"], OpenValues()] | None = Field(
        description="What the handler does to the world outside; null without a handler."
    )
    timeout: float | None = Field(description="Seconds that one call of the handler may take.")


class TaskAgentView(View):
    """An agent of a task."""

    key: str = Field(description="The path of the first task that it answers for.", examples=["triage/billing"])
    name: str
    model: str | None = Field(description="The model that it is configured for; null for an agent without one.")
    llm_queue: str | None = Field(description="The queue of the asks for its model; null without a model.")
    agent_queue: str = Field(description="The queue of the asks for its handlers.")
    tools: list[ToolView]


class TaskTreeView(View):
    """A task, and the tasks that it may call."""

    path: str
    name: str
    agent: str = Field(description="The key of its agent.")
    interactive: bool = Field(description="Whether it asks a human when no one else answers.")
    turns: int | None = Field(description="Turns after which it ends; null for no such limit.")
    sub_tasks: list[TaskTreeView]


class TaskDetail(TaskView):
    """A task that runs can be made of, with what a run of it consists of."""

    pinned: bool = Field(description="Whether a run stays with the version that it began with.")
    tree: TaskTreeView
    agents: list[TaskAgentView]
    limits: LimitsView = Field(description="Those of a run that names none; null is no limit.")
    max_turns: int = Field(description="Turns after which any task of a run ends with MAX_TURNS.")
