"""The input of `Task.run`, as the first message of a conversation."""

from __future__ import annotations

from typing import Any

from turnwise.agents.chat_agent import ChatAgent
from turnwise.base.text import value_as_text
from turnwise.machine.stack import as_from_user
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity
from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMMessage


def first_message(given: Any, agent: ChatAgent, *, afresh: bool, caller: bool = False) -> ChatDocument | None:
    """The document to begin with; None lets the model begin.

    Texts and values are from USER and tainted, and so is a document from USER. None continues from the last message of
    the history, if the conversation does not begin `afresh`. With a `caller` the message is as a sub-task sees it:
    from its own USER.
    """
    if given is None:
        if afresh or len(agent.message_history) < 2:
            return None
        return last_said(agent.message_history[-1])
    if caller and isinstance(given, ChatDocument):
        message = ChatDocument.deepcopy(given)
        as_from_user(message, given)
        return message
    return document_of(given)


def last_said(message: LLMMessage) -> ChatDocument:
    """The last message of a history, to continue from; it keeps its id, so that it is not appended once more.

    What the model did not say counts as typed, as a document from USER does that is given to a run.
    """
    doc = ChatDocument.from_LLMMessage(message)
    if message.chat_document_id:
        doc.metadata.id = message.chat_document_id
    doc.metadata.tools_from_agent = doc.metadata.sender is Entity.LLM
    doc.metadata.tainted = message.tainted or doc.metadata.sender is Entity.USER
    doc.metadata.quoted = message.quoted
    return doc


def document_of(given: Any) -> ChatDocument:
    """A text, a tool, a value or a document (copied) as a message to a root task, with its marks of trust."""
    if isinstance(given, ChatDocument):
        return _from_document(given)
    metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER, tainted=True)
    if isinstance(given, ToolMessage):
        # A tool that the program itself hands in, not something typed.
        metadata.tainted, metadata.tools_from_agent = False, True
        return ChatDocument(tool_messages=[given], metadata=metadata)
    return ChatDocument(content=value_as_text(given), content_any=given, metadata=metadata)


def _from_document(given: ChatDocument) -> ChatDocument:
    copy = ChatDocument.deepcopy(given)
    if copy.metadata.sender == Entity.USER:
        copy.metadata.tainted = True
    return copy
