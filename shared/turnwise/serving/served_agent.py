"""Agents of a served run: a fresh one for each ask, over the application's template and what was saved of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.format_setting import check_lasting
from turnwise.agents.history import History
from turnwise.agents.record import AgentRecord
from turnwise.llm.base import LLMMessage, LLMTokenUsage, Role
from turnwise.llm.prompt_size import message_tokens
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
    record = template.record.model_copy(deep=True) if saved.record is None else AgentRecord.model_validate(saved.record)
    _take_over(agent, template, record, registry)
    agent.callbacks = copy.copy(template.callbacks)
    agent.usage, agent.other_model = LLMTokenUsage(), None
    agent.load_state(saved.state)
    agent.history_source = lambda: _history(agent, saved, load_history)
    agent.message_history_unread()
    return ServedAgent(agent, template, saved, registry)


def _take_over(agent: ChatAgent, template: ChatAgent, record: AgentRecord, registry: Registry) -> None:
    """Give the agent this record, with the tools and the format that it names."""
    agent.record = record
    _ = template.toolbox.sets  # made once, and shared by all copies until one changes its tools
    agent.toolbox = template.toolbox.copy()
    if record.tools is not None:
        agent.toolbox.load(record.tools, registry)
    agent.restore_format(registry)


def _history(agent: ChatAgent, saved: records.AgentRecord, load: LoadHistory | None) -> History:
    """The stored messages, below a system message that is made anew for each call and not stored."""
    stored = load() if load is not None and saved.history_len else []
    if not stored:
        return History()
    messages = [agent.system_and_tools_message(), *stored]
    return History(messages, unchanged=len(messages), fitted=agent.record.fitted, tokens=saved.history_tokens)


@dataclass
class ServedAgent:
    """A fresh agent, and what it was made of."""

    agent: ChatAgent
    template: ChatAgent
    saved: records.AgentRecord
    registry: Registry

    def facts(self) -> AgentFacts:
        """As the rules see it; the system message counts as part of a history that has begun."""
        length = self.saved.history_len
        return self.agent.facts()._replace(history_len=length + 1 if length else 0)

    def record(self) -> Json | None:
        """The framework's record, if it is not what was saved; raises `ConfigurationError` for what can not last."""
        agent = self.agent
        check_lasting(agent.record.output_format, self.registry)
        history = agent.held_history()
        if history is not None:
            agent.record.fitted = history.fitted
        tools = agent.toolbox.dump()
        agent.record.tools = tools if tools != self.template.toolbox.dump() else None
        now = agent.record.dump()
        before = self.saved.record if self.saved.record is not None else self.template.record.dump()
        return now if now != before else None

    def state(self) -> Json | None:
        """The application's state, if it is not what was saved."""
        now = self.agent.dump_state()
        return now if now is not None and now != self.saved.state else None

    def changes(self) -> tuple[Json | None, Json]:
        """What the call has changed so far, whole: the application's state, and the framework's record and history."""
        self.record()
        keep, rows = self.history_changes()
        kept = {"record": self.agent.record.dump(), "keep": keep, "history": [asdict(row) for row in rows]}
        return self.agent.dump_state(), kept

    def restore(self, state: Json | None, changes: Json | None) -> None:
        """Make the agent what `changes` said that it was; None leaves what it is."""
        if state is not None:
            self.agent.load_state(state)
        if changes is None:
            return
        agent = self.agent
        agent.answer_format = self.template.answer_format
        _take_over(agent, self.template, AgentRecord.model_validate(changes["record"]), self.registry)
        if changes["keep"] is not None or changes["history"]:
            agent.message_history_unread()
            history = agent.history()
            system = 1 if history and history[0].role == Role.SYSTEM else 0
            if changes["keep"] is not None:
                del history[system + changes["keep"] :]
            history.extend(LLMMessage.model_validate(row["body"]) for row in changes["history"])

    def history_changes(self) -> tuple[int | None, tuple[NewHistory, ...]]:
        """How many saved rows to keep (None: all), and the rows to append."""
        history = self.agent.held_history()
        if history is None:
            return None, ()
        system = 1 if history and history[0].role == Role.SYSTEM else 0
        kept = max(0, history.unchanged - system)
        added = tuple(_row(message) for message in history[system + kept :])
        return (kept if kept < self.saved.history_len else None), added


def _row(message: LLMMessage) -> NewHistory:
    body: dict[str, Any] = message.model_dump(mode="json", exclude_defaults=True)
    return NewHistory(
        role=message.role.value,
        body=body,
        tokens=message_tokens(message),
        document_id=message.chat_document_id or None,
    )
