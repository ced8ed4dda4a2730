"""The beginning of a conversation: the application's messages, and how to use the tools."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from turnwise.agents.output.output_format import OutputFormat
from turnwise.messages.toolset import ToolSets
from turnwise.models.base import LLMMessage, Role

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


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


def set_system_message(agent: ChatAgent, msg: str) -> None:
    """Replace the application's part of the system message, from the next model call on."""
    agent.record.system_message = msg
    held = agent.history.held
    if held:
        held.begin_with(agent.system_and_tools_message())


def set_user_message(agent: ChatAgent, msg: str) -> None:
    """Replace the message from USER that the next conversation begins with."""
    agent.record.user_message = msg


def augment_system_message(agent: ChatAgent, message: str) -> None:
    """Add a paragraph to the application's part of the system message."""
    agent.set_system_message(f"{agent.system_message}\n\n{message}")


def json_format_rules(agent: ChatAgent) -> str:
    """Return how the model has to write each tool that it may use; "" if there is none. May be overridden.

    It stands in the system message after the application's text, with `use_tools`. Tools of one form are told
    together, by `json_group_instructions` and `format_instructions` of their classes.
    """
    return tool_rules(agent.toolbox.sets)


def tool_instructions(agent: ChatAgent) -> str:
    """Return what `instructions` of the usable tools tell the model of them; "" if nothing. May be overridden.

    It stands at the end of the system message, however tools are called.
    """
    return tool_advice(agent.toolbox.sets)


def system_and_tools_message(agent: ChatAgent) -> LLMMessage:
    """The system message as the model gets it: the application's text, and all that is said of tools."""
    output, sets, mine = agent.answer_format, agent.toolbox.sets, type(agent)
    if mine.json_format_rules is json_format_rules and mine.tool_instructions is tool_instructions:
        return system_message(agent.system_message, sets, use_tools=agent.config.use_tools, output=output)
    rules = agent.json_format_rules() if told_as_text(use_tools=agent.config.use_tools, output=output) else ""
    text = system_text(agent.system_message, rules, agent.tool_instructions(), output)
    return LLMMessage(role=Role.SYSTEM, content=text)


def init_message_history(agent: ChatAgent) -> None:
    """Begin the history with the task messages."""
    agent.message_history = agent.task_messages
