"""A tool with which a model takes back what it said, and says something else."""

from __future__ import annotations

from typing import ClassVar

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.provenance import untrusted
from turnwise.messages.tool_message import ToolEffect, ToolMessage
from turnwise.models.base import Role


class RewindTool(ToolMessage):
    """Puts `content` in place of the model's `n`-th message (from 1), and drops what came after.

    What sub-tasks heard and said since is dropped from their agents' histories, too.
    """

    request: str = "rewind_tool"
    purpose: str = "To rewind the conversation and change your <n>'th message to <content>."
    n: int
    content: str
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True
    _takes_back: ClassVar[bool] = True

    def response(self, agent: HandlingAgent, chat_doc: ChatDocument | None = None) -> str | ChatDocument:
        """The new message as from LLM, in place of the old one; an error text if there is no such message."""
        index = agent.nth_message_idx_with_role(Role.ASSISTANT, self.n)
        if index < 0:
            return f"Could not rewind: there is no message {self.n} of yours yet."
        old = agent.message_history[index]
        source = agent.history.find(old.chat_document_id)
        since, before = _since(agent, index, chat_doc)
        agent.clear_history(index)
        doc = agent.create_llm_response(self.content)
        known = old if source is None else source.metadata
        doc.metadata.tainted = known.tainted or (chat_doc is not None and untrusted(chat_doc))
        doc.metadata.recipient = known.recipient
        doc.metadata.takes_back = tuple(since)
        if source is not None:
            before = source.parent or before
        if before is not None:
            doc.answers(before)
        agent.message_history.extend(ChatDocument.to_LLMMessage(doc))
        assert doc.metadata.sender is Entity.LLM
        return doc


def _since(agent: HandlingAgent, index: int, last: ChatDocument | None) -> tuple[list[str], ChatDocument | None]:
    """Ids of what was said since the messages before `index`, in sub-tasks too; and what the first one of it answered.

    That is what `last` leads back to, and so do the agent's messages from there on: one of an earlier run, or of a call
    that had no result, answers nothing that `last` leads to.
    """
    known = {message.chat_document_id for message in agent.message_history[:index]}
    since: dict[str, None] = {}
    before = _back(last, known, since)
    for message in reversed(agent.message_history[index:]):
        said = message.chat_document_id
        if message.role == Role.ASSISTANT and said and said not in since:
            _back(agent.history.find(said), known, since)
    return list(since), before


def _back(document: ChatDocument | None, known: set[str], since: dict[str, None]) -> ChatDocument | None:
    """Add the document and what it leads back to, up to what is in either; returns the first one that is."""
    while document is not None and document.metadata.id not in known and document.metadata.id not in since:
        since[document.metadata.id] = None
        document = document.parent
    return document
