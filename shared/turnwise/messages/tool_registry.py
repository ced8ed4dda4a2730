"""The tools of an application, by which messages find their classes again in another process."""

from __future__ import annotations

from collections.abc import Mapping

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
        """Take in the tools that the agent `owner` knows."""
        for name, kind in tools.items():
            if self.setdefault(name, kind) is not kind and self.owners.setdefault(kind, owner) == owner:
                self[place_of_tool(name, owner)] = kind


def owners_in(tools: Mapping[str, type[ToolMessage]]) -> Mapping[type[ToolMessage], str]:
    """Return the owners of the tools that do not have their names to themselves."""
    return tools.owners if isinstance(tools, ToolRegistry) else {}


def place_of_tool(name: str, owner: str) -> str:
    """Return where a registry has the tool that only the agent `owner` knows by this name."""
    return f"{name}@{owner}"
