"""A tool with which a model takes back what it said, and says something else."""

from __future__ import annotations

from typing import ClassVar

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.provenance import untrusted
from turnwise.messages.tool_message import ToolEffect, ToolMessage
from turnwise.models.base import LLMMessage, Role


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
        since, before = _since(agent.message_history[:index], chat_doc)
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


def _since(kept: list[LLMMessage], last: ChatDocument | None) -> tuple[list[str], ChatDocument | None]:
    """Ids of what was said since the messages that are kept, in sub-tasks too, up to `last`; and what it answered."""
    known = {message.chat_document_id for message in kept}
    since: list[str] = []
    while last is not None and last.metadata.id not in known:
        since.append(last.metadata.id)
        last = last.parent
    return since, last
