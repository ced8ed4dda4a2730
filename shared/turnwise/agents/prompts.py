"""The system message: the application's text, and how to use the tools."""

from __future__ import annotations

from functools import lru_cache

from turnwise.agents.output.output_format import OutputFormat
from turnwise.messages.toolset import ToolSets
from turnwise.models.base import LLMMessage, Role


def tool_rules(sets: ToolSets) -> str:
    """Return how to write each usable tool, those of one form together; "" if the model may use none."""
    groups: dict[str, list[str]] = {}
    for name in sorted(sets.usable):
        tool = sets.known[name]
        formats = groups.setdefault(tool.json_group_instructions(), [])
        formats.append(tool.format_instructions(tool=name not in sets.bare))
    return "\n".join(group.replace("{format_instructions}", "\n\n".join(formats)) for group, formats in groups.items())


def tool_advice(sets: ToolSets) -> str:
    """Return what the usable tools themselves want the model to know; "" if nothing."""
    texts = [sets.known[name].instructions() for name in sorted(sets.usable)]
    return "\n\n".join(text for text in texts if text)


@lru_cache(maxsize=4096)
def system_message(own: str, sets: ToolSets, *, use_tools: bool, output: OutputFormat | None = None) -> LLMMessage:
    """The whole system message; kept by its arguments, because schemas are slow to make and rarely change."""
    rules = tool_rules(sets) if told_as_text(use_tools=use_tools, output=output) else ""
    return LLMMessage(role=Role.SYSTEM, content=system_text(own, rules, tool_advice(sets), output))


def told_as_text(*, use_tools: bool, output: OutputFormat | None) -> bool:
    """Return whether the system message says how to write tools."""
    return use_tools or (output is not None and output.force_tools)


def system_text(own: str, rules: str, advice: str, output: OutputFormat | None) -> str:
    """The text of the system message: what there is of its parts, as paragraphs."""
    form = output.rules() if output is not None and output.instructions else ""
    return "\n\n".join(part for part in (own, rules, advice, form) if part)
