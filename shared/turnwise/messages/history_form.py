"""A document as messages of a model's history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwise.base.text import value_as_text
from turnwise.messages.api_results import match_results
from turnwise.messages.entity import Entity
from turnwise.models.base import LLMFunctionCall, LLMMessage, OpenAIToolCall, Role
from turnwise.models.file_attachment import FileAttachment

if TYPE_CHECKING:
    from turnwise.messages.document import ChatDocument
    from turnwise.messages.document_metadata import ChatDocMetaData


def history_messages(
    doc: ChatDocument, open_calls: list[OpenAIToolCall], open_function: str | None = None
) -> list[LLMMessage]:
    """Return what is appended to the history when the model is sent `doc`, or has said it, with its files.

    Models take files from a user alone, so those of a tool's result follow it in a message of their own. Arguments are
    those of `_messages`.
    """
    messages = _messages(doc, open_calls, open_function)
    files = tuple(file for file in doc.files if isinstance(file, FileAttachment)) if doc.files else ()
    if not files or doc.metadata.sender == Entity.LLM:
        return messages
    if messages[-1].role == Role.USER:
        return [*messages[:-1], messages[-1].model_copy(update={"files": files})]
    meta = doc.metadata
    return [*messages, LLMMessage.made(role=Role.USER, files=files, **_origin(meta))]


def _messages(doc: ChatDocument, open_calls: list[OpenAIToolCall], open_function: str | None) -> list[LLMMessage]:
    """The messages without files.

    `open_function` names the deprecated function call that the model's last message made.

    With open API calls the document answers them: a single open one whatever it is, several by id. What another
    agent's model called arrives as text, because only the assistant itself may hold calls in its history.
    """
    meta = doc.metadata
    # What a model said without any text stays so: some servers refuse a text beside calls.
    content = "" if doc.content_is_none else doc.content or value_as_text(doc.content_any)
    if meta.sender == Entity.LLM:
        return [
            LLMMessage.made(
                role=Role.ASSISTANT,
                content=content,
                tool_calls=doc.oai_tool_calls,
                function_call=doc.function_call,
                chat_document_id=meta.id,
                recipient=meta.recipient,
                tainted=meta.tainted,
            )
        ]
    if doc.function_call is not None or doc.oai_tool_calls:
        content = _with_foreign_calls(content, doc.function_call, doc.oai_tool_calls)
    if len(open_calls) == 1:
        only = open_calls[0]
        if doc.oai_tool_id2result and only.id in doc.oai_tool_id2result:
            content = doc.oai_tool_id2result[only.id or ""]
        return [_answer(only.id, content, meta)]
    ids = [call.id for call in open_calls]
    if ids and doc.oai_tool_id2result:
        text, by_id, answered = match_results(doc.content, doc.oai_tool_id2result, open_calls)
        if by_id is None:
            return [_answer(answered, text, meta)]
        answers = [_answer(key, result, meta) for key, result in by_id.items()]
        # What answers no open call is said beside the results.
        beside = LLMMessage.made(role=Role.USER, content=text, **_origin(meta))
        return [*answers, beside] if text else answers
    if doc.oai_tool_id2result:
        content = content or "\n\n".join(doc.oai_tool_id2result.values())
    if ids and meta.oai_tool_id in ids:
        return [_answer(meta.oai_tool_id, content, meta)]
    if ids:
        return [_answer(ids[0], content, meta)]
    role = Role.SYSTEM if meta.sender == Entity.SYSTEM else Role.USER
    if open_function is not None:
        role = Role.FUNCTION
    return [LLMMessage.made(role=role, name=open_function, content=content, **_origin(meta))]


def _answer(call_id: str | None, content: str, meta: ChatDocMetaData) -> LLMMessage:
    return LLMMessage.made(role=Role.TOOL, tool_call_id=call_id, content=content, **_origin(meta))


def _origin(meta: ChatDocMetaData) -> dict[str, Any]:
    """The fields that say which message it was, and whose words."""
    return {"chat_document_id": meta.id, "tainted": meta.tainted, "quoted": meta.quoted}


def _with_foreign_calls(content: str, function: LLMFunctionCall | None, calls: list[OpenAIToolCall] | None) -> str:
    functions = [function] if function else []
    functions += [call.function for call in calls or [] if call.function]
    texts = [f"{f.name}({f.written})" for f in functions]
    return "\n\n".join([content, *texts] if content else texts)
