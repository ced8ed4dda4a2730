"""A tool with which a model takes back what it said, and says something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwise.entity import Entity
from turnwise.llm.base import Role
from turnwise.messages.document import ChatDocument
from turnwise.messages.provenance import untrusted
from turnwise.messages.tool_message import ToolEffect, ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


class RewindTool(ToolMessage):
    """Puts `content` in the place of the model's `n`-th message (from 1), and drops what came after."""

    request: str = "rewind_tool"
    purpose: str = "To rewind the conversation and change your <n>'th message to <content>."
    n: int
    content: str
    _effect: ToolEffect = "read_only"

    def response(self, agent: ChatAgent, chat_doc: ChatDocument | None = None) -> str | ChatDocument:
        """The new message as from LLM, in the place of the old one; an error text if there is no such message."""
        index = agent.nth_message_idx_with_role(Role.ASSISTANT, self.n)
        if index < 0:
            return f"Could not rewind: there is no message {self.n} of yours yet."
        old = agent.message_history[index]
        source = agent.lookup(old.chat_document_id)
        agent.clear_history(index)
        doc = agent.create_llm_response(self.content)
        doc.metadata.tainted = chat_doc is not None and untrusted(chat_doc)
        if source is not None:
            doc.metadata.tainted = doc.metadata.tainted or source.metadata.tainted
            doc.metadata.recipient = source.metadata.recipient
            if source.parent is not None:
                doc.answers(source.parent)
        agent.message_history.extend(ChatDocument.to_LLMMessage(doc))
        assert doc.metadata.sender is Entity.LLM
        return doc
