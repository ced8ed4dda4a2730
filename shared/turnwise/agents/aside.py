"""A copy of an agent, for what is to be no part of its conversation."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, TypeVar

from turnwise.models.tokens.usage import LLMTokenUsage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

A = TypeVar("A", bound="ChatAgent")


def aside(agent: A) -> A:
    """Return a copy of the agent that continues from the same conversation by itself.

    The usage of its model counts as the agent's own. It shares `state` and other attributes with the agent.
    """
    agent.read_attributes()
    other = copy(agent)
    other.copied_from = agent
    other.record = agent.record.model_copy(deep=True)
    other.toolbox = agent.toolbox.copy()
    other.callbacks = copy(agent.callbacks)
    other.usage = LLMTokenUsage()
    other.history = agent.history.continued()
    return other
