"""The tools that an agent knows, and the other facts about it that decide how a message is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import OpenAIToolCall


@dataclass(frozen=True, eq=False)
class ToolSets:
    """The sets of an agent: all `known` tools by name; those its model is told of; those it answers.

    Of the `bare` ones the model is told only the fields that it must give.
    """

    known: Mapping[str, type[ToolMessage]] = field(default_factory=dict)
    usable: frozenset[str] = frozenset()
    handled: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()

    @cached_property
    def xml(self) -> frozenset[str]:
        """Names of the known tools that a model writes as XML."""
        return frozenset(name for name, tool in self.known.items() if tool._form == "xml")

    @cached_property
    def takes_back(self) -> bool:
        """Return whether one of the known tools takes back messages of the model."""
        return any(tool._takes_back for tool in self.known.values())


# The sets that some agent has now, by what is in them.
_in_use: WeakValueDictionary[tuple[frozenset[Any], ...], ToolSets] = WeakValueDictionary()


def tool_sets(
    known: Mapping[str, type[ToolMessage]], usable: Iterable[str], handled: Iterable[str], bare: Iterable[str]
) -> ToolSets:
    """The sets with these names, the same object as long as any agent has them.

    So what is made of them (prompts, schemas) is made once for all agents of a kind, however many there are.
    """
    key = (frozenset(known.items()), frozenset(usable), frozenset(handled), frozenset(bare))
    sets = _in_use.get(key)
    if sets is None:
        sets = _in_use[key] = ToolSets(dict(known), *key[1:])
    return sets


class AgentFacts(NamedTuple):
    """An agent as the rules of a task see it: a value, taken when a move is made.

    `silent` says that the tool handler certainly answers nothing to a message without a tool of its own: there is
    no fallback and no override. `infers_tools`: an object without `request` that the model wrote may be a tool.
    `history_len` counts the messages of its history. `own_llm`: the application's own code answers as LLM, with a model
    or without.
    """

    name: str
    tools: ToolSets = ToolSets()
    has_llm: bool = False
    silent: bool = True
    respond_tools_only: bool = False
    accept_user_tools: bool = True
    infers_tools: bool = True
    open_calls: tuple[OpenAIToolCall, ...] = ()
    history_len: int = 0
    own_llm: bool = False
