"""Tools for models that have to say whom they address."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, create_model

from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity
from turnwise.messages.handling_agent import HandlingAgent, KeptMessage
from turnwise.messages.provenance import untrusted
from turnwise.messages.tool_message import ToolEffect, ToolMessage


class AddRecipientTool(ToolMessage):
    """Adds the missing recipient, `intended_recipient`, to the message that the agent keeps for its model."""

    request: str = "add_recipient"
    purpose: str = "To say who is the <intended_recipient> of the message that you sent without one."
    intended_recipient: str
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    def response(self, agent: HandlingAgent, chat_doc: ChatDocument | None = None) -> ChatDocument | str:
        """The kept message, as from LLM, addressed; it may be completed only once."""
        kept = agent.record.kept_message
        if kept is None:
            return "There is no message that waits for a recipient; send the message again with its recipient."
        agent.record.kept_message = None
        agent.disable_message_use(AddRecipientTool)
        agent.disable_message_handling(AddRecipientTool)
        return _as_from_llm(agent, kept.content, self.intended_recipient, tainted=kept.tainted)


class RecipientTool(ToolMessage):
    """The model's message `content` to the agent or entity `intended_recipient`, spoken as the model itself.

    Once it is enabled, a message of the model without recipient is kept, and the model is asked for the recipient
    alone.
    """

    request: str = "recipient_message"
    purpose: str = "To send the message <content> to the agent or entity named <intended_recipient>."
    intended_recipient: str
    content: str
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    @classmethod
    def create(cls, recipients: list[str], default: str = "") -> type[RecipientTool]:
        """A subclass whose purpose names the possible `recipients`; with `default`, the field may be left out."""
        names = ", ".join(recipients)
        fields = {"intended_recipient": (str, default or Field(...))}
        made: type[RecipientTool] = create_model(  # type: ignore[call-overload]
            "RecipientTool",
            __base__=cls,
            __module__=cls.__module__,
            purpose=(str, f"To send the message <content> to one of these as <intended_recipient>: {names}."),
            **fields,
        )
        return made

    @classmethod
    def instructions(cls) -> str:
        """Told to the model with the tool."""
        return f"Whenever you address somebody, use the tool `{cls.name()}` and name the recipient."

    def response(self, agent: HandlingAgent, chat_doc: ChatDocument | None = None) -> ChatDocument:
        """The message as from LLM; without a recipient it is kept, and the model is asked for one."""
        tainted = chat_doc is not None and untrusted(chat_doc)
        if not self.intended_recipient:
            return keep_and_ask(agent, self.content, tainted=tainted)
        return _as_from_llm(agent, self.content, self.intended_recipient, tainted=tainted)

    @staticmethod
    def handle_message_fallback(agent: HandlingAgent, msg: str | ChatDocument) -> ChatDocument | None:
        """Ask for the recipient of a message of the model that names none."""
        if not isinstance(msg, ChatDocument) or msg.metadata.sender != Entity.LLM or msg.metadata.recipient:
            return None
        return keep_and_ask(agent, msg.content, tainted=untrusted(msg))


def keep_and_ask(agent: HandlingAgent, content: str, *, tainted: bool) -> ChatDocument:
    """Keep a message in the agent's record and say how to add its recipient."""
    agent.record.kept_message = KeptMessage(content=content, tainted=tainted)
    agent.enable_message(AddRecipientTool)
    text = (
        "Your message names no recipient. Do not write it again: say only who it is for, with the tool\n"
        f"`{AddRecipientTool.name()}` and its field `intended_recipient`."
    )
    return agent.create_agent_response(text, recipient=Entity.LLM.value)


def _as_from_llm(agent: HandlingAgent, content: str, recipient: str, *, tainted: bool) -> ChatDocument:
    return ChatDocument(
        content=content,
        content_any=content,
        metadata=ChatDocMetaData(
            source=Entity.LLM,
            sender=Entity.LLM,
            sender_name=agent.config.name,
            agent_id=agent.id,
            recipient=recipient,
            tainted=tainted,
            tools_from_agent=True,
        ),
    )
