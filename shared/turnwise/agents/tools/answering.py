"""An agent's answers as AGENT: the tools in a message, and what their handlers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from turnwise.agents.own_methods import method_beneath
from turnwise.agents.tools import dispatch
from turnwise.agents.tools.handler_lookup import handler_value
from turnwise.agents.tools.reading import as_document
from turnwise.base.sync_async import run_async, run_sync
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import explain

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def agent_response(agent: ChatAgent, msg: str | ChatDocument | None = None) -> ChatDocument | None:
    """Return AGENT's answer: results of tools, their faults, or the fallback's answer; None for nothing.

    Callbacks are told, and results are matched to the API calls that they answer. Errors of handlers propagate.
    """
    return None if msg is None else run_sync(dispatch.answer(agent, as_document(msg)))


async def agent_response_async(agent: ChatAgent, msg: str | ChatDocument | None = None) -> ChatDocument | None:
    """The same as `agent_response`, awaiting handlers that have an async twin."""
    own = method_beneath(agent, "agent_response")
    if own is not None:
        answer: ChatDocument | None = own(msg)
        return answer
    return None if msg is None else await run_async(dispatch.answer(agent, as_document(msg)))


def handle_message(agent: ChatAgent, msg: str | ChatDocument) -> Any:
    """Handle the tools in a message, and return what `agent_response` makes its answer of. May be overridden.

    Returns a text where the result is nothing but that; the results by call id where several API calls were
    answered; a `ChatDocument` for anything else; None if there is nothing to say. Without a tool it is the
    fallback's answer, with bad fields `tool_validation_error`'s. Errors of handlers propagate.
    """
    return dispatch.bare(run_sync(dispatch.handled(agent, as_document(msg))))


async def handle_message_async(agent: ChatAgent, msg: str | ChatDocument) -> Any:
    """The same as `handle_message`, awaiting handlers that have an async twin."""
    if (own := method_beneath(agent, "handle_message")) is not None:
        return own(msg)
    return dispatch.bare(await run_async(dispatch.handled(agent, as_document(msg))))


def handle_tool_message(agent: ChatAgent, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
    """Call the handler of one tool, and return what it returns; None if there is no handler.

    `chat_doc` is the message that holds the tool, for handlers that take it. Override it to do something around
    every handler, such as asking for a permission. Errors of handlers propagate.
    """
    return run_sync(handler_value(agent, tool, chat_doc))


async def handle_tool_message_async(agent: ChatAgent, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
    """The same as `handle_tool_message`, awaiting a handler that has an async twin."""
    if (own := method_beneath(agent, "handle_tool_message")) is not None:
        return own(tool, chat_doc)
    return await run_async(handler_value(agent, tool, chat_doc))


def handle_message_fallback(agent: ChatAgent, msg: str | ChatDocument) -> Any:
    """The answer to a message without a tool that this agent handles; None for no answer.

    By default what `ChatAgentConfig.handle_llm_no_tool` says. May be overridden, and may return what a handler may:
    a text, a tool, a document, any value.
    """
    return dispatch.default_fallback(agent, as_document(msg))


def tool_validation_error(agent: ChatAgent, ve: ValidationError, tool_class: type[ToolMessage] | None = None) -> str:
    """Return what the model is told of a tool with bad fields: the tool, each field and why, and to write it again.

    `ve` is pydantic's error, and `tool_class` the tool (None: the one that the error's `title` names). May be
    overridden, with the first parameter alone as well.
    """
    if tool_class is not None:
        return explain(tool_class.name() or tool_class.__name__, ve)
    titled = (name for name, tool in agent.toolbox.known.items() if ve.title in (tool.__name__, name))
    return explain(next(titled, ve.title), ve)
