"""Sessions: conversations that continue from run to run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from turnwise.api.runs import UsageView
from turnwise.api.view import View


class AgentView(View):
    """The memory of an agent; `agent` is the path of the first task that holds it."""

    agent: str
    messages: int = Field(description="Of its history, without the system message.")
    tokens: int = Field(description="Of these messages, estimated.")
    state: dict[str, Any] | None = Field(description="Its declared state, null before it has any.")


class SessionTaskView(View):
    """A task of the session; each has a conversation of its own."""

    task: str
    runs: int
    agents: list[AgentView]


class SessionLinks(View):
    """Links of a session."""

    self: str
    runs: str


class SessionView(View):
    """A session; `usage` is the sum of its runs."""

    id: str
    created_at: datetime
    last_used_at: datetime = Field(description="When a run of it was accepted or ended last.")
    runs: int
    unfinished: int
    usage: UsageView
    tasks: list[SessionTaskView]
    links: SessionLinks
