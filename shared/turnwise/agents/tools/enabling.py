"""Enabling tools: which ones an agent's model may use, and which ones it handles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from turnwise.errors import ConfigurationError
from turnwise.messages.tool_message import ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.agent import Agent

ToolClasses = type[ToolMessage] | Sequence[type[ToolMessage]] | None


def enable_message(
    agent: Agent,
    message_class: ToolClasses,
    use: bool = True,
    handle: bool = True,
    force: bool = False,
    require_recipient: bool = False,
    include_defaults: bool = True,
) -> None:
    """Make tools known to the agent: `use` by its model, `handle` by itself; None for all it knows already.

    `force` makes the model's API call exactly this tool (with `use_functions_api`), until it is enabled without.
    `require_recipient` adds a field that the model must fill in. `include_defaults` tells the model of fields with
    defaults, too. Raises `ConfigurationError` for what is no tool class, for a tool without a name, and for a
    second tool that is not in a list.
    """
    if any(isinstance(given, type) for given in (use, handle)):
        raise ConfigurationError(
            "enable_message() was given several tools as arguments, but the second says whether the model may use "
            "the first; give them as one list: enable_message([A, B])"
        )
    for tool in _classes(agent, message_class):
        agent.toolbox.enable(
            tool,
            use=use,
            handle=handle,
            require_recipient=require_recipient,
            include_defaults=include_defaults,
        )
        if force:
            agent.record.forced_tool = tool.name()
        elif agent.record.forced_tool == tool.name():
            agent.record.forced_tool = None


def enable_message_handling(agent: Agent, message_class: ToolClasses = None) -> None:
    """Let the agent handle the tool (None: every known one), and leave open whether its model may use it."""
    for tool in _classes(agent, message_class):
        agent.toolbox.enable(tool, use=tool.name() in agent.toolbox.usable, handle=True)


def disable_message_handling(agent: Agent, message_class: type[ToolMessage] | None = None) -> None:
    """Let the agent no longer handle the tool (None: any)."""
    agent.toolbox.restrict(
        agent.toolbox.handled, None if message_class is None else [_tool_class(message_class).name()]
    )


def disable_message_use(agent: Agent, message_class: type[ToolMessage] | None = None) -> None:
    """Let the model no longer use the tool (None: any)."""
    agent.toolbox.restrict(agent.toolbox.usable, None if message_class is None else [_tool_class(message_class).name()])


def disable_message_use_except(agent: Agent, message_class: type[ToolMessage]) -> None:
    """Let the model use only this one of its tools."""
    agent.toolbox.restrict(agent.toolbox.usable, agent.toolbox.usable - {_tool_class(message_class).name()})


def unhandled_tools(agent: Agent) -> set[str]:
    """Names of the tools that are known but not handled."""
    return set(agent.toolbox.known) - agent.toolbox.handled


def sample_multi_round_dialog(agent: Agent) -> str:
    """Examples of at most two usable tools, a random one of each, as text for a prompt; "" if there are none."""
    tools = [agent.toolbox.known[name] for name in sorted(agent.toolbox.usable)]
    examples = [text for tool in tools if (text := tool.usage_examples(random=True))]
    return "\n\n".join(examples[:2])


def _classes(agent: Agent, message_class: ToolClasses) -> list[type[ToolMessage]]:
    if message_class is None:
        return list(agent.toolbox.known.values())
    given: Any = message_class
    is_one = isinstance(given, type | str) or not isinstance(given, Iterable)
    return [_tool_class(each) for each in ([given] if is_one else given)]


def _tool_class(given: Any) -> type[ToolMessage]:
    if isinstance(given, type) and issubclass(given, ToolMessage):
        return given
    found = f"the class {given.__name__}" if isinstance(given, type) else f"{given!r} ({type(given).__name__})"
    raise ConfigurationError(f"{found} is not a tool; give a subclass of ToolMessage, or a list of them")
