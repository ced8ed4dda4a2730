"""Agents of a served run: a fresh one for each ask, over the application's template and what was saved of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from weakref import ref

from turnwise.agents.attributes import saving
from turnwise.agents.attributes.unread import Unread
from turnwise.agents.callbacks import Callbacks
from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.history.agent_history import AgentHistory
from turnwise.agents.history.history import MessageHistory
from turnwise.agents.kept_state import AgentMemory
from turnwise.agents.output.format_setting import lasting_format, restore_format
from turnwise.agents.own_attributes import AgentTemplate, template_of
from turnwise.base.copies import bare_copy, copied_model
from turnwise.errors import ConfigurationError
from turnwise.machine.done import ends_tasks
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_registry import owners_in, place_of_tool
from turnwise.messages.tools.orchestration import AgentDoneTool
from turnwise.messages.toolset import AgentFacts
from turnwise.models.base import LLMMessage, OpenAIToolCall, Role
from turnwise.models.language_model import LanguageModel
from turnwise.models.tokens.estimate import message_tokens
from turnwise.models.tokens.usage import NO_USAGE
from turnwise.record.values import records
from turnwise.record.values.records import Json, NewHistory

Registry = Mapping[str, type[ToolMessage]]
# Gives a list that is the caller's own.
LoadHistory = Callable[[], list[LLMMessage]]

# The parts of an agent's record that its facts are made of, but for its open calls.
_OF_FACTS = frozenset(("tools", "output_format", "settings"))

_HOW = "for instance with enable_message(..., use=False, handle=False)"


def over_template(
    template: ChatAgent, saved: records.AgentRecord, registry: Registry, load_history: LoadHistory | None = None
) -> ServedAgent:
    """An agent in the state `saved`; its history is read by `load_history` when someone looks at it."""
    known = template_of(template, registry)
    agent = known.copied()
    # Weak, or each agent would lie about with its whole history until the garbage collector finds it.
    agent.history = AgentHistory(partial(_history, ref(agent), template, saved, load_history))
    # A copy through JSON takes a third of the time of a deep one.
    kept = _begun_with(template) if saved.record is None else saved.record
    record = AgentMemory.model_validate(kept) if kept else AgentMemory()
    settings = _take_over(agent, known, record, registry)
    callbacks = template.callbacks
    agent.callbacks = bare_copy(callbacks) if type(callbacks) is Callbacks else copy(callbacks)
    agent.usage, agent.other_model = NO_USAGE, None
    if template.State is not None:  # else the name is the program's
        agent.load_state(saved.state)
    return ServedAgent(agent, template, saved, registry, settings, agent.llm)


def facts_of(template: ChatAgent, saved: records.AgentRecord, registry: Registry) -> AgentFacts:
    """The agent in the state `saved` as the rules see it; one is made only where what was saved may tell otherwise.

    The system message counts as part of a history that has begun.
    """
    facts, record = template_of(template, registry).facts(), saved.record
    if facts is None or (record is not None and not _OF_FACTS.isdisjoint(record)):
        return over_template(template, saved, registry).facts()
    length = saved.history_len
    calls, silent = facts.open_calls, facts.silent
    if record is not None:
        calls = tuple(OpenAIToolCall.model_validate(call) for call in record.get("open_calls", ()))
        # A turn has set its own method for messages without a tool on the agent.
        silent = silent and "_own_handling" not in (record.get("attributes") or ())
    return facts._replace(open_calls=calls, history_len=length + 1 if length else 0, silent=silent)


def _take_over(agent: ChatAgent, known: AgentTemplate, record: AgentMemory, registry: Registry) -> Unread | None:
    """Give the agent this record, with the attributes, the tools and the format that it names; returns its settings."""
    template, agent.record = known.agent, record
    saving.begin(agent, known, record.attributes or {}, agent.history.find)
    agent.config = copied_model(template.config)
    settings = saving.begin_settings(agent.config, known.settings, record.settings or {})
    _ = template.toolbox.sets  # made once, and shared by all copies until one changes its tools
    agent.toolbox = template.toolbox.copy()
    if record.tools is not None:
        agent.toolbox.load(record.tools, registry)
    restore_format(agent, registry)
    return settings


def _begun_with(template: ChatAgent) -> Json:
    """Return the record of an agent of which nothing was saved; the format of its answers is the template's own."""
    record = template.record.dump()
    record.pop("output_format", None)
    return record


def _history(
    weak: ref[ChatAgent], template: ChatAgent, saved: records.AgentRecord, load: LoadHistory | None
) -> MessageHistory:
    """The stored messages, below a system message that is made anew for each call and not stored."""
    stored = load() if load is not None and saved.history_len else []
    if not stored:
        return MessageHistory()
    agent = weak()
    if agent is None:  # a copy outlives it, and begins with a system message of its own when its model is called
        agent = template
    stored.insert(0, agent.system_and_tools_message())
    return MessageHistory(stored, unchanged=len(stored), fitted=agent.record.fitted, tokens=saved.history_tokens)


@dataclass
class ServedAgent:
    """A fresh agent, and what it was made of."""

    agent: ChatAgent
    template: ChatAgent
    saved: records.AgentRecord
    registry: Registry
    settings: Unread | None = None
    # The client that the turn began with.
    model: LanguageModel | None = None

    def facts(self) -> AgentFacts:
        """As the rules see it; the system message counts as part of a history that has begun."""
        length = self.saved.history_len
        return self.agent.facts()._replace(history_len=length + 1 if length else 0)

    def record(self) -> Json | None:
        """The framework's record, if it is not what was saved.

        Raises `ConfigurationError` and `AttributeNotSavedError` for what cannot last.
        """
        agent, record = self.agent, self.agent.record
        if record.output_format is not None:
            record.output_format = lasting_format(agent, self.template.answer_format, self.registry)
        if agent.toolbox.sets is not self.template.toolbox.sets:
            _check_tools(agent, self.template, self.registry)
        history = agent.history.held
        if history is not None and record.fitted != history.fitted:
            record.fitted = history.fitted
        _put(record, "tools", None if agent.toolbox.says_as(self.template.toolbox) else agent.toolbox.dump())
        known = template_of(self.template, self.registry)
        known.check_shared(agent, self.model)
        _put(record, "attributes", saving.found(agent, known) or None)
        _put(record, "settings", saving.found_settings(agent.config, known.settings, self.settings) or None)
        now = record.dump()
        before = self.saved.record if self.saved.record is not None else _begun_with(self.template)
        return now if now != before else None

    def check_answer(self, document: ChatDocument) -> None:
        """Raise `ConfigurationError` for a tool that ends tasks, but not when it is read under its name."""
        self.check_ends(self.unknown_ends(document))

    def unknown_ends(self, value: Any) -> dict[str, str]:
        """Return the tools of an answer that end tasks, but not when they are read under their names: these, and the
        classes.
        """
        owners, unknown = owners_in(self.registry), {}
        for tool in _attached(value):
            kind = type(tool)
            if not ends_tasks(kind):
                continue
            name = kind.name() or tool.request
            if not self._ends(place_of_tool(name, owners[kind]) if kind in owners else name):
                unknown[name] = kind.__qualname__
        return unknown

    def check_ends(self, unknown: Mapping[str, str]) -> None:
        """Raise `ConfigurationError` for one of these tools that still is unknown."""
        for name, kind in unknown.items():
            if not self._ends(name):
                raise ConfigurationError(
                    f"an answer of agent {self.agent.config.name!r} holds the tool {name!r} ({kind}), which ends "
                    f"tasks, but no agent of the application {_unknown(name, self.registry)}; enable it in the "
                    f"factory, {_HOW}"
                )

    def _ends(self, place: str) -> bool:
        found = self.registry.get(place)
        return found is not None and ends_tasks(found)

    def state(self) -> Json | None:
        """The application's state, if it is not what was saved."""
        now = self._state()
        return now if now is not None and now != self.saved.state else None

    def changes(self) -> tuple[Json | None, Json]:
        """Return what the call has changed so far, whole: the application's state, and the framework's record and
        history.
        """
        self.record()
        keep, rows = self.history_changes()
        kept = {"record": self.agent.record.dump(), "keep": keep, "history": [asdict(row) for row in rows]}
        return self._state(), kept

    def _state(self) -> Json | None:
        return self.agent.dump_state() if self.agent.State is not None else None

    def restore(self, state: Json | None, changes: Json | None) -> None:
        """Make the agent what `changes` said that it was; None leaves what it is."""
        if state is not None and self.agent.State is not None:
            self.agent.load_state(state)
        if changes is None:
            return
        agent = self.agent
        agent.answer_format = self.template.answer_format
        known = template_of(self.template, self.registry)
        self.settings = _take_over(agent, known, AgentMemory.model_validate(changes["record"]), self.registry)
        if changes["keep"] is not None or changes["history"]:
            agent.history.reread()
            history = agent.history.messages
            system = 1 if history and history[0].role == Role.SYSTEM else 0
            if changes["keep"] is not None:
                del history[system + changes["keep"] :]
            history.extend(LLMMessage.model_validate(row["body"]) for row in changes["history"])

    def history_changes(self) -> tuple[int | None, tuple[NewHistory, ...]]:
        """Return how many saved rows to keep (None: all), and the rows to append."""
        history = self.agent.history.held
        if history is None:
            return None, ()
        system = 1 if history and history[0].role == Role.SYSTEM else 0
        kept = max(0, history.unchanged - system)
        added = tuple(history_row(message) for message in history[system + kept :])
        return (kept if kept < self.saved.history_len else None), added


def _put(record: AgentMemory, name: str, value: Json | None) -> None:
    # Most have none, before and after; setting a field of a model takes longer than looking at it.
    if value is not None or getattr(record, name) is not None:
        setattr(record, name, value)


def _check_tools(agent: ChatAgent, template: ChatAgent, registry: Registry) -> None:
    """Raise `ConfigurationError` for a tool that other processes would not find by its name."""
    made = template.toolbox.known
    for name, kind in agent.toolbox.known.items():
        if made.get(name) is not kind and registry.get(name) is not kind and name not in agent.toolbox.addressed:
            raise ConfigurationError(
                f"the tool {name!r} ({kind.__qualname__}) was enabled in a turn, but no agent of the application "
                f"{_unknown(name, registry)}; enable it in the factory, {_HOW}"
            )


def _unknown(name: str, registry: Registry) -> str:
    return "knows it" if name not in registry else "knows that class by its name"


def _attached(value: Any) -> Iterator[ToolMessage]:
    """The tools of an answer, or of what a handler returned, and those that they hand on."""
    if isinstance(value, ToolMessage):
        tools = [value]
    else:
        tools = value.tool_messages if isinstance(value, ChatDocument) else []
    for tool in tools:
        yield tool
        if isinstance(tool, AgentDoneTool):
            yield from tool.tools


def history_row(message: LLMMessage) -> NewHistory:
    """A message as the record keeps it."""
    body: dict[str, Any] = message.model_dump(mode="json", exclude_defaults=True)
    return NewHistory(
        role=message.role.value,
        body=body,
        tokens=message_tokens(message),
        document_id=message.chat_document_id or None,
    )
