"""The input of a human, as a message."""

from __future__ import annotations

import re

from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData, document_id
from turnwise.messages.entity import Entity
from turnwise.models.base import OpenAIToolCall

# The whole word: "SYSTEMS", "SYSTEM's" and "SYSTEM-WIDE" are others, with which a human begins as himself.
_SYSTEM = re.compile(r"SYSTEM(?!['’-]?\w)")


def human_answer(
    text: str,
    question: ChatDocument | None,
    *,
    default: str | None = None,
    open_calls: tuple[OpenAIToolCall, ...] | list[OpenAIToolCall] = (),
    new_id: str | None = None,
) -> ChatDocument | None:
    """The human's reply to `question`, or None for an empty one.

    An empty reply to a message addressed to the human is `default`, or "null". A reply that starts with the word
    SYSTEM is a system message without it. What a human says is tainted; while one API call is open it answers that
    call.
    """
    text = text.strip()
    if not text and question is not None and question.metadata.recipient == Entity.USER:
        text = default or "null"
    if not text:
        return None
    sender = Entity.USER
    if (system := _SYSTEM.match(text)) is not None:
        text, sender = text[system.end() :].strip(), Entity.SYSTEM
    metadata = ChatDocMetaData(
        id=new_id or document_id(),
        source=sender,
        sender=sender,
        tainted=sender is Entity.USER,
        tool_ids=list(question.metadata.tool_ids) if question is not None else [],
        oai_tool_id=open_calls[0].id if len(open_calls) == 1 else None,
    )
    return ChatDocument(content=text, content_any=text or None, metadata=metadata)
