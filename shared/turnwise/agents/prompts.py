"""The system message: the application's text, and how to use the tools."""

from __future__ import annotations

from functools import lru_cache

from turnwise.llm.base import LLMMessage, Role
from turnwise.messages.toolset import ToolSets


def tool_rules(sets: ToolSets) -> str:
    """How to write each usable tool as JSON; "" if the model may use none."""
    usable = {name: sets.known[name] for name in sorted(sets.usable)}
    if not usable:
        return ""
    formats = "\n\n".join(tool.format_instructions(tool=name not in sets.bare) for name, tool in usable.items())
    return next(iter(usable.values())).json_group_instructions().replace("{format_instructions}", formats)


def tool_advice(sets: ToolSets) -> str:
    """What the usable tools themselves want the model to know; "" if nothing."""
    texts = [sets.known[name].instructions() for name in sorted(sets.usable)]
    return "\n\n".join(text for text in texts if text)


@lru_cache(maxsize=512)
def system_message(own: str, sets: ToolSets, *, use_tools: bool) -> LLMMessage:
    """The whole system message; kept by its arguments, because schemas are slow to make and rarely change."""
    return LLMMessage(role=Role.SYSTEM, content=system_text(own, sets, use_tools=use_tools))


def system_text(own: str, sets: ToolSets, *, use_tools: bool) -> str:
    """The text of the system message."""
    parts = [own, tool_rules(sets) if use_tools else "", tool_advice(sets)]
    return "\n\n".join(part for part in parts if part)
