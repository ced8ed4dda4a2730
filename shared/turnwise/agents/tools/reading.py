"""The tools in a message, as an agent sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import NOTHING_FOUND, Found, accepts, find_tools, may_hold_tools, tool_attempt

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def found_in(agent: ChatAgent, doc: ChatDocument) -> Found:
    """The tools in a message, as this agent sees them."""
    # First the test that most texts settle: the facts take longer to gather.
    return find_tools(doc, agent.facts()) if may_hold_tools(doc, agent.toolbox.sets) else NOTHING_FOUND


def get_tool_messages(agent: ChatAgent, msg: str | ChatDocument | None, all_tools: bool = False) -> list[ToolMessage]:
    """The tools in a message that this agent handles; with `all_tools`, every one that it knows.

    Tools that are attached to the message come first, then those in its text, then API calls. What a human typed
    is filtered (see `Trust` in the docs). A tool with bad fields is not among them: see `handle_message`.
    """
    if msg is None:
        return []
    found = found_in(agent, as_document(msg))
    return list(found.tools if all_tools else found.mine)


def try_get_tool_messages(
    agent: ChatAgent, msg: str | ChatDocument | None, all_tools: bool = False
) -> list[ToolMessage]:
    """The same as `get_tool_messages`, which raises for no message."""
    return agent.get_tool_messages(msg, all_tools)


def get_json_tool_messages(agent: ChatAgent, input_str: str) -> list[ToolMessage]:
    """The tools written in a text, of those that this agent knows, read as if its own model had written them."""
    return list(found_in(agent, agent.create_llm_response(input_str)).tools)


def has_tool_message_attempt(agent: ChatAgent, msg: str | ChatDocument | None) -> bool:
    """Return whether a task treats the message as a use of a tool, not as text.

    So it does if a tool is attached to it, or if the model wrote a tool that this agent handles, or wrote a known
    one with bad fields.
    """
    return msg is not None and tool_attempt(as_document(msg), agent.facts())


def has_only_unhandled_tools(agent: ChatAgent, msg: str | ChatDocument) -> bool:
    """Return whether the message holds known tools, and this agent handles none of them."""
    tools = agent.get_tool_messages(msg, all_tools=True)
    return bool(tools) and not any(tool.request in agent.toolbox.handled for tool in tools)


def can_respond(agent: ChatAgent, message: str | ChatDocument | None = None) -> bool:
    """Return whether a sub-task of this agent would be asked; False if it could do nothing with the message.

    That is one with tools of which the agent handles none, and a plain text where `respond_tools_only` is set.
    """
    return message is None or accepts(agent.facts(), as_document(message))


def as_document(msg: str | ChatDocument) -> ChatDocument:
    """A text as a document from USER; a document itself. Raises `TypeError` for anything else."""
    if isinstance(msg, ChatDocument):
        return msg
    if isinstance(msg, str):
        return ChatDocument.from_str(msg)
    raise TypeError(
        f"an agent answers a text or a ChatDocument, and was given {type(msg).__name__}; Task.run takes other values, "
        "and ChatDocument(tool_messages=[...]) tools"
    )
