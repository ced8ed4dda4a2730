"""Messages that an agent makes, and values that are read out of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from turnwise.base.text import value_as_text
from turnwise.messages.api_results import match_results
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity
from turnwise.messages.return_value import value_of_type
from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMFunctionCall, OpenAIToolCall

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

T = TypeVar("T")


def response_template(
    agent: ChatAgent,
    e: Entity,
    content: str | None = None,
    files: Sequence[Any] = (),
    content_any: Any = None,
    tool_messages: Sequence[ToolMessage] = (),
    oai_tool_calls: list[OpenAIToolCall] | None = None,
    oai_tool_choice: str | dict[str, Any] = "auto",
    oai_tool_id2result: dict[str, str] | None = None,
    function_call: LLMFunctionCall | None = None,
    recipient: str = "",
    tainted: bool = False,
) -> ChatDocument:
    """A message from entity `e` of this agent.

    - `content`: its text; `content_any`: its value, which is the text if none is given.
    - `tool_messages`: tools that are attached to it. They count as put there by the agent (see `Trust` in the
      docs), and so does what its model is made to say; in a message from USER they count as a human's.
    - `oai_tool_calls` and `function_call`: calls as of a model; `oai_tool_id2result`: results by call id.
    - `oai_tool_choice`: what a model may do that answers it: `auto`, `none`, `required`, or one function as the
      API names it.
    - `recipient`: the entity or task that is to answer it, "" for anyone.
    - `tainted`: it hands on what a human typed (see `Trust` in the docs).
    - `files`: what else is attached to it; a model is sent what is a `FileAttachment`.
    """
    more = oai_tool_calls or oai_tool_id2result or function_call or recipient or tainted or oai_tool_choice != "auto"
    # In a text alone, which most handlers return, there is nothing to validate.
    plain = type(content) is str and not more
    document, metadata = (ChatDocument.made, ChatDocMetaData.made) if plain else (ChatDocument, ChatDocMetaData)
    return document(
        content=content or "",
        content_any=content_any if content_any is not None else (content or None),
        tool_messages=list(tool_messages),
        files=list(files),
        oai_tool_calls=oai_tool_calls,
        oai_tool_choice=oai_tool_choice,
        oai_tool_id2result=oai_tool_id2result,
        function_call=function_call,
        metadata=metadata(
            source=e,
            sender=e,
            agent_id=agent.id,
            recipient=recipient,
            tainted=tainted,
            tools_from_agent=e is Entity.LLM or (e is Entity.AGENT and bool(tool_messages)),
        ),
    )


def create_agent_response(
    agent: ChatAgent,
    content: str | None = None,
    files: Sequence[Any] = (),
    content_any: Any = None,
    tool_messages: Sequence[ToolMessage] = (),
    oai_tool_calls: list[OpenAIToolCall] | None = None,
    oai_tool_choice: str | dict[str, Any] = "auto",
    oai_tool_id2result: dict[str, str] | None = None,
    function_call: LLMFunctionCall | None = None,
    recipient: str = "",
    tainted: bool = False,
) -> ChatDocument:
    """A message from AGENT, the tool handler; the arguments are those of `response_template`."""
    return agent.response_template(
        Entity.AGENT,
        content,
        files,
        content_any,
        tool_messages,
        oai_tool_calls,
        oai_tool_choice,
        oai_tool_id2result,
        function_call,
        recipient,
        tainted,
    )


def create_llm_response(
    agent: ChatAgent,
    content: str | None = None,
    content_any: Any = None,
    tool_messages: Sequence[ToolMessage] = (),
    oai_tool_calls: list[OpenAIToolCall] | None = None,
    oai_tool_choice: str | dict[str, Any] = "auto",
    oai_tool_id2result: dict[str, str] | None = None,
    function_call: LLMFunctionCall | None = None,
    recipient: str = "",
    tainted: bool = False,
    files: Sequence[Any] = (),
) -> ChatDocument:
    """A message as from this agent's model; the arguments are those of `response_template`."""
    return agent.response_template(
        Entity.LLM,
        content,
        files,
        content_any,
        tool_messages,
        oai_tool_calls,
        oai_tool_choice,
        oai_tool_id2result,
        function_call,
        recipient,
        tainted,
    )


def create_user_response(
    agent: ChatAgent,
    content: str | None = None,
    files: Sequence[Any] = (),
    content_any: Any = None,
    tool_messages: Sequence[ToolMessage] = (),
    oai_tool_calls: list[OpenAIToolCall] | None = None,
    oai_tool_choice: str | dict[str, Any] = "auto",
    oai_tool_id2result: dict[str, str] | None = None,
    function_call: LLMFunctionCall | None = None,
    recipient: str = "",
) -> ChatDocument:
    """A message as from this agent's human; the arguments are those of `response_template`."""
    return agent.response_template(
        Entity.USER,
        content,
        files,
        content_any,
        tool_messages,
        oai_tool_calls,
        oai_tool_choice,
        oai_tool_id2result,
        function_call,
        recipient,
    )


def to_ChatDocument(
    agent: ChatAgent,
    msg: Any,
    orig_tool_name: str | None = None,
    chat_doc: ChatDocument | None = None,
    author_entity: Entity = Entity.AGENT,
) -> ChatDocument | None:
    """A handler's value as a message from `author_entity`; None stays None, a document itself.

    A tool is attached, a text is the content, and any other value is the content as text and `content_any` as it
    is. `orig_tool_name` is the tool that was handled, for an answer to a deprecated function call; `chat_doc` the
    message that held it.
    """
    if isinstance(msg, str):  # as nearly always; whether it is a model of pydantic takes longer to find out
        doc = agent.response_template(author_entity, msg, content_any=msg)
    elif msg is None or isinstance(msg, ChatDocument):
        return msg
    elif isinstance(msg, ToolMessage):
        doc = agent.response_template(author_entity, tool_messages=[msg])
    else:
        doc = agent.response_template(author_entity, value_as_text(msg), content_any=msg)
    if chat_doc is not None:
        doc.metadata.tool_ids = list(chat_doc.metadata.tool_ids)
        if chat_doc.function_call is not None and orig_tool_name:
            doc.metadata.sender_name = orig_tool_name
    return doc


def from_ChatDocument(agent: ChatAgent, msg: ChatDocument, output_type: type[T]) -> T | None:
    """The value of `output_type` in the message, None if it holds none; as `task[T]` reads a task's result.

    In this order: the text for `str`; `content_any` of that type; tools of that type, all for a list, else the
    first; a number, a truth value, or a list or dict of a type, parsed from the text; a field of that type in an
    attached tool. A message that does not say yes is False for `bool`.
    """
    value: T | None = value_of_type(msg, output_type)
    return value


def process_tool_results(
    agent: ChatAgent,
    results: str,
    id2result: Mapping[str, str] | None = None,
    tool_calls: Sequence[OpenAIToolCall] | None = None,
) -> tuple[str, dict[str, str] | None, str | None]:
    """Match a text and results by call id to the open API calls (default: the agent's own).

    Returns the text that is left, the results by the id of the call that each answers, and the id of the call
    that the text answers; the last two are None where they do not apply.
    """
    calls = agent.oai_tool_calls if tool_calls is None else tool_calls
    return match_results(results, dict(id2result) if id2result else None, calls)
