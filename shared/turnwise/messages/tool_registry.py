"""The tools of an application, by which messages find their classes again in another process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from turnwise.messages.tool_message import ToolMessage


class ToolRegistry(dict[str, type[ToolMessage]]):
    """Classes of tools by name.

    Agents may know different tools by one name. The class that was added first has the name. Each other one is kept as
    `name@owner`, where `owner` is the agent that was the first to know it, and `owners` tells that agent.
    """

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[type[ToolMessage], str] = {}

    def add(self, owner: str, tools: Mapping[str, type[ToolMessage]]) -> None:
        """Take in the tools that the agent `owner` knows, then those that may stand in their fields."""
        for kind in tools.values():
            self._add(owner, kind)
        for kind in tools.values():
            for inner in _tools_within(kind):
                self._add(owner, inner)

    def _add(self, owner: str, kind: type[ToolMessage]) -> None:
        name = kind.name()
        if self.setdefault(name, kind) is kind or kind in self.owners:
            return
        if self.setdefault(place_of_tool(name, owner), kind) is kind:
            self.owners[kind] = owner


def owners_in(tools: Mapping[str, type[ToolMessage]]) -> Mapping[type[ToolMessage], str]:
    """Return the owners of the tools that do not have their names to themselves."""
    return tools.owners if isinstance(tools, ToolRegistry) else {}


def place_of_tool(name: str, owner: str) -> str:
    """Return where a registry has the tool that only the agent `owner` knows by this name."""
    return f"{name}@{owner}"


@lru_cache(maxsize=1_024)
def _tools_within(kind: type[ToolMessage]) -> tuple[type[ToolMessage], ...]:
    """The tools with names that the fields of a tool declare, also within models, lists and unions."""
    found: dict[type[BaseModel], None] = {}
    ahead = list(_models_in_fields(kind))
    while ahead:
        model = ahead.pop(0)
        if model not in found and model is not kind:
            found[model] = None
            ahead += _models_in_fields(model)
    return tuple(model for model in found if issubclass(model, ToolMessage) and model.name())


def _models_in_fields(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in kind.model_fields.values():
        yield from _models_in(field.annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
