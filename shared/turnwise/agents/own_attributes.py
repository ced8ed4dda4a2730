"""The attributes of agents that are Turnwise's own, and those that programs add."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache

from turnwise.agents.agent import Agent
from turnwise.agents.attributes.snapshot import Snapshot
from turnwise.agents.attributes.template import Template
from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.config import ChatAgentConfig
from turnwise.base.copies import bare_copy, copies_plainly
from turnwise.errors import AttributeNotSavedError
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import AgentFacts
from turnwise.models.language_model import LanguageModel

# Of Turnwise's own attributes, those that programs set as they please.
_FREE = frozenset(("default_human_response",))
# Settings that all turns of a process share: clients were made of them.
_OF_ITS_MODEL = frozenset(("llm", "vecdb", "retry"))


class AgentTemplate(Template):
    """The attributes and the settings of an agent as the factory made it."""

    def __init__(self, agent: ChatAgent, own: frozenset[str], tools: Mapping[str, type[ToolMessage]]) -> None:
        super().__init__(agent, own, tools)
        self.agent = agent
        self.settings = Template(agent.config, _OF_ITS_MODEL, tools)
        self._model_settings = dict(vars(agent.config.llm)) if agent.config.llm is not None else {}
        kind = self.kind
        self._own_facts = (
            kind.facts is not ChatAgent.facts or kind.is_silent is not ChatAgent.is_silent or kind.llm is not Agent.llm
        )
        self._facts: AgentFacts | None = None
        self._copies_plainly = not self.looked_up_otherwise and copies_plainly(kind, Agent.__reduce_ex__)

    def copied(self) -> ChatAgent:
        """Return a shallow copy of the agent, whose history is the agent's own object until it is given another."""
        return bare_copy(self.agent) if self._copies_plainly else copy(self.agent)

    def facts(self) -> AgentFacts | None:
        """Return the agent as the rules of a task see it, with its present tools, before anything of it is saved.

        None of an agent whose class has its own say in that, for which its attributes may count.
        """
        if self._own_facts:
            return None
        if self._facts is None or self._facts.tools is not self.agent.toolbox.sets:
            self._facts = self.agent.facts()
        return self._facts

    def check_shared(self, agent: ChatAgent, model: LanguageModel | None) -> None:
        """Raise `AttributeNotSavedError` if a turn of `agent`, begun with `model`, has changed it or its callbacks.

        A model's settings are put back: all turns of a process use them.
        """
        if agent.llm is not model:
            raise self._refused("llm", "the client of a model is made once in each process")
        llm = self.agent.config.llm
        if llm is not None:
            now, before = vars(llm), self._model_settings
            if now != before:
                name = next((name for name in now if name not in before or now[name] != before[name]), "")
                now.update(before)
                raise self._refused(f"config.llm.{name}", "the settings of a model are those of all its runs")
        own, made = vars(agent.config), vars(self.agent.config)
        for name in _OF_ITS_MODEL:
            if own.get(name) is not made.get(name):
                raise self._refused(f"config.{name}", "it is set once in each process")
        if vars(agent.callbacks) != vars(self.agent.callbacks):
            raise self._refused("callbacks", "functions are not kept between turns")

    def _refused(self, place: str, reason: str) -> AttributeNotSavedError:
        return AttributeNotSavedError(
            f"{self.kind.__name__}.{place} was changed in this turn, which the next turn would not know: {reason}; set "
            "it in the factory, and use a second agent, as a sub-task, where two are needed"
        )


def template_of(agent: ChatAgent, tools: Mapping[str, type[ToolMessage]]) -> AgentTemplate:
    """Return what is known of the attributes of an agent that the factory made; it is looked at once."""
    known: AgentTemplate | None = vars(agent).get("_template")
    if known is None or known.made is not agent:
        known = agent._template = AgentTemplate(agent, _own_of(agent), tools)
    return known


def snapshots(agent: ChatAgent) -> tuple[Snapshot, ...]:
    """Return what brings back the attributes and the settings of the agent, as they are now."""
    agent.read_attributes()
    own = _own_of(agent) | frozenset(agent.unsaved)
    return Snapshot(agent, own), Snapshot(agent.config, _OF_ITS_MODEL)


def _own_of(agent: ChatAgent) -> frozenset[str]:
    return _own() if type(agent).State is not None else _own() - {"state"}


@lru_cache(maxsize=1)
def _own() -> frozenset[str]:
    return (frozenset(vars(ChatAgent(ChatAgentConfig(llm=None)))) | {"_template", "_unread"}) - _FREE
