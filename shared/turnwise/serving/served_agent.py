"""Agents of a served run: a fresh one for each ask, over the application's template and what was saved of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.history import estimated_tokens
from turnwise.agents.record import AgentRecord
from turnwise.llm.base import LLMMessage, LLMTokenUsage
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import AgentFacts
from turnwise.runs import records
from turnwise.runs.records import Json, NewHistory

Registry = dict[str, type[ToolMessage]]
LoadHistory = Callable[[], Sequence[LLMMessage]]


def over_template(
    template: ChatAgent, saved: records.AgentRecord, registry: Registry, load_history: LoadHistory | None = None
) -> ServedAgent:
    """An agent in the state `saved`; its history is read by `load_history` when somebody looks at it."""
    agent = copy.copy(template)
    agent.record = (
        template.record.model_copy(deep=True) if saved.record is None else AgentRecord.model_validate(saved.record)
    )
    _ = template.toolbox.sets  # made once, and shared by all copies until one changes its tools
    agent.toolbox = template.toolbox.copy()
    if agent.record.tools is not None:
        agent.toolbox.load(agent.record.tools, registry)
    agent.callbacks = copy.copy(template.callbacks)
    agent.usage = LLMTokenUsage()
    agent.load_state(saved.state)
    history = _LazyHistory(agent, load_history if saved.history_len else None)
    agent.history_source = history.messages
    agent.message_history_unread()
    return ServedAgent(agent, template, saved, history)


@dataclass
class ServedAgent:
    """A fresh agent, and what it was made of."""

    agent: ChatAgent
    template: ChatAgent
    saved: records.AgentRecord
    history: _LazyHistory

    def facts(self) -> AgentFacts:
        """As the rules see it; the system message counts as part of a history that has begun."""
        length = self.saved.history_len
        return replace(self.agent.facts(), history_len=length + 1 if length else 0)

    def record(self) -> Json | None:
        """The framework's record, if it is not what was saved."""
        agent = self.agent
        tools = agent.toolbox.dump()
        agent.record.tools = tools if tools != self.template.toolbox.dump() else None
        now = agent.record.dump()
        before = self.saved.record if self.saved.record is not None else self.template.record.dump()
        return now if now != before else None

    def state(self) -> Json | None:
        """The application's state, if it is not what was saved."""
        now = self.agent.dump_state()
        return now if now is not None and now != self.saved.state else None

    def history_changes(self) -> tuple[int | None, tuple[NewHistory, ...]]:
        """How many saved rows to keep (None: all), and the rows to append."""
        return self.history.changes()


class _LazyHistory:
    """The messages of a served agent: loaded once, compared with what they were at the end."""

    def __init__(self, agent: ChatAgent, load: LoadHistory | None) -> None:
        self._agent = agent
        self._load = load
        self._loaded: list[LLMMessage] = []

    def messages(self) -> list[LLMMessage]:
        """Read the history; called once, when the agent first looks at it."""
        self._loaded = list(self._load()) if self._load is not None else []
        # The system message is made anew for each call, so it is not stored.
        return [self._agent.system_and_tools_message(), *self._loaded] if self._loaded else []

    def changes(self) -> tuple[int | None, tuple[NewHistory, ...]]:
        current = self._agent.held_history()
        if current is None:
            return None, ()
        said = current[1:]
        kept = 0
        for old, new in zip(self._loaded, said, strict=False):
            if old is not new:
                break
            kept += 1
        added = tuple(_row(message) for message in said[kept:])
        return (kept if kept < len(self._loaded) else None), added


def _row(message: LLMMessage) -> NewHistory:
    body: dict[str, Any] = message.model_dump(mode="json", exclude_defaults=True)
    return NewHistory(
        role=message.role.value,
        body=body,
        tokens=estimated_tokens(message.content),
        document_id=message.chat_document_id or None,
    )
