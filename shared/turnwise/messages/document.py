"""The one kind of message that responders exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, Field, SkipValidation

from turnwise.base.text import tsv_field
from turnwise.messages.document_metadata import ChatDocMetaData, document_id
from turnwise.messages.entity import Entity
from turnwise.messages.history_form import history_messages
from turnwise.messages.json_text import json_objects
from turnwise.messages.lent import lent_tool, lent_value
from turnwise.messages.linked_document import LinkedDocument
from turnwise.messages.log_fields import ChatDocLoggerFields
from turnwise.messages.signals import Addresses, addressee, any_object
from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMFunctionCall, LLMMessage, LLMResponse, OpenAIToolCall, Role


class ChatDocument(LinkedDocument):
    """A message: text, structured tools, API calls or their results, and metadata.

    - `content`: the text, "" when absent; `content_any`: the value that a handler returned, or the text.
      `content_is_none` tells a model's answer that had no text at all from one with an empty text.
    - `reasoning`: what a model thought before it answered, where it says so; no rule reads it.
    - `oai_tool_calls`: calls that a model asks for; `function_call`: one of the deprecated kind.
    - `oai_tool_id2result`: results of several calls, by call id.
    - `oai_tool_choice`: what a model may do that answers this: `auto`, `none`, `required`, or one function as the API
      names it.
    - `tool_messages`: tools that are attached to it.
    - `files`: files that go with the text; a model is sent those that are a `FileAttachment`, of up to 10 MB each in
      served runs. `attachment`: whatever else a program wants to hand on.
    - `metadata`: who says it, to whom, and where it stands in the conversation.

    In served runs the values have to be JSON or pydantic models.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, validate_default=False)

    _offered_as: ClassVar[str] = "chat_doc"

    content: str = ""
    content_any: Any = None
    content_is_none: bool = False
    reasoning: str = ""
    oai_tool_calls: list[OpenAIToolCall] | None = None
    oai_tool_id2result: dict[str, str] | None = None
    oai_tool_choice: str | dict[str, Any] = "auto"
    function_call: LLMFunctionCall | None = None
    tool_messages: SkipValidation[list[ToolMessage]] = Field(default_factory=list)
    attachment: Any = None
    files: list[Any] = Field(default_factory=list)
    metadata: ChatDocMetaData = Field(default_factory=ChatDocMetaData)

    # As the slots of `LinkedDocument`.
    __slots__ = ("_found", "_objects")
    if TYPE_CHECKING:
        # (text, JSON objects in it), and what `tool_parsing` found in it: scanning a text once is enough.
        _objects: tuple[str, list[dict[str, Any]]] | None
        _found: Any

    def keep_tools(self, finding: Any) -> None:
        """Keep what was found in the text, with what it depends on."""
        _set_found(self, finding)

    def forget_findings(self) -> None:
        """Let go of what was read out of the text; it is read again if someone asks."""
        _set_found(self, None)
        _set_objects(self, None)

    def _fill_slots(self) -> None:
        super()._fill_slots()
        _set_found(self, None)
        _set_objects(self, None)

    def _remember(self, other: Self) -> None:
        super()._remember(other)
        _set_found(self, other._found)
        _set_objects(self, other._objects)

    def __str__(self) -> str:
        name = self.metadata.sender_name
        return f"{self.metadata.sender.value}{f'[{name}]' if name else ''}: {self.content}"

    def id(self) -> str:
        """The message's identifier."""
        return self.metadata.id

    def lent(self) -> Self:
        """Return a copy of the same id for an application, which may change it: this one stays as it was seen."""
        return self.changed(
            content_any=lent_value(self.content_any),
            tool_messages=[lent_tool(tool) for tool in self.tool_messages],
            files=list(self.files),
            metadata=self.metadata.changed(tool_ids=list(self.metadata.tool_ids)),
        )

    @staticmethod
    def deepcopy(doc: ChatDocument, new_id: str | None = None) -> ChatDocument:
        """A copy with a new id (`new_id`, where given) that shares nothing changeable with `doc`.

        Its parent stays the same.
        """
        copy = doc.model_copy(
            update={
                "metadata": doc.metadata.model_copy(
                    update={
                        "id": new_id or document_id(),
                        "tool_ids": list(doc.metadata.tool_ids),
                        "child_id": "",
                        "takes_back": (),
                    }
                ),
                "tool_messages": [tool.model_copy(deep=True) for tool in doc.tool_messages],
                "oai_tool_calls": [call.model_copy(deep=True) for call in doc.oai_tool_calls]
                if doc.oai_tool_calls
                else doc.oai_tool_calls,
                "oai_tool_id2result": dict(doc.oai_tool_id2result) if doc.oai_tool_id2result else None,
                "files": list(doc.files),
            }
        )
        return copy.following(doc)

    @classmethod
    def from_str(cls, msg: str) -> ChatDocument:
        """A message from USER; `TO[name]: text` or a top-level JSON field `recipient` addresses it."""
        recipient, content = addressee(msg)
        return cls(
            content=content, content_any=content, metadata=ChatDocMetaData(source=Entity.USER, recipient=recipient)
        )

    @staticmethod
    def from_LLMMessage(message: LLMMessage, sender_name: str = "", recipient: str = "") -> ChatDocument:
        """A history message as a document: assistant becomes LLM, system SYSTEM, everything else USER."""
        sender = {Role.ASSISTANT: Entity.LLM, Role.SYSTEM: Entity.SYSTEM}.get(message.role, Entity.USER)
        return ChatDocument(
            content=message.content,
            content_any=message.content or None,
            content_is_none=not message.content and bool(message.tool_calls or message.function_call),
            function_call=message.function_call,
            oai_tool_calls=message.tool_calls,
            metadata=ChatDocMetaData(source=sender, sender=sender, sender_name=sender_name, recipient=recipient),
        )

    @staticmethod
    def from_LLMResponse(
        response: LLMResponse,
        displayed: bool = False,
        recognize_recipient_in_content: bool = True,
        addresses: Addresses = any_object,
    ) -> ChatDocument:
        """A model's answer as a document from LLM.

        With `recognize_recipient_in_content` an addressee is read out of its text (`TO[name]: text`, or JSON with a
        field `recipient`, of the objects that may hold one by `addresses`). `displayed` changes nothing: a message does
        not know whether it was shown.
        """
        recipient, content = "", response.message or ""
        if recognize_recipient_in_content and content:
            recipient, content = addressee(content, addresses)
        elif content:
            content = content.strip()
        if not content and response.message and recipient:
            content = response.message
        calls = response.function_call or (response.oai_tool_calls[0].function if response.oai_tool_calls else None)
        if calls is not None and recognize_recipient_in_content and not recipient and addresses(calls.name):
            recipient = str((calls.arguments or {}).get("recipient") or "")
        return ChatDocument.made(
            content=content,
            content_any=content or None,
            content_is_none=response.message is None,
            reasoning=response.reasoning,
            oai_tool_calls=response.oai_tool_calls or None,
            function_call=response.function_call,
            metadata=ChatDocMetaData.made(
                source=Entity.LLM,
                sender=Entity.LLM,
                usage=response.usage,
                cached=response.cached,
                recipient=recipient,
                tools_from_agent=True,
            ),
        )

    @staticmethod
    def to_LLMMessage(
        message: str | ChatDocument, oai_tools: list[OpenAIToolCall] | None = None, function: str | None = None
    ) -> list[LLMMessage]:
        """The document as history messages; `oai_tools` are the agent's open API calls that it may answer.

        `function` names an open call of the deprecated kind.
        """
        doc = ChatDocument.from_str(message) if isinstance(message, str) else message
        return history_messages(doc, oai_tools or [], function)

    def json_objects(self) -> list[dict[str, Any]]:
        """The JSON objects at the top level of the text; scanned once per text."""
        kept = self._objects
        if kept is None or kept[0] is not self.content:
            kept = (self.content, json_objects(self.content))
            _set_objects(self, kept)
        return kept[1]

    def get_json_tools(self) -> list[str]:
        """Names of the tools written as JSON in the text (the value of `request`), known to an agent or not."""
        return [str(item["request"]) for item in self.json_objects() if "request" in item]

    def get_tool_names(self) -> list[str]:
        """Names of the tools written in the text, as JSON or XML, known to an agent or not."""
        from turnwise.messages.xml.parsing import tool_names

        return tool_names(self.content) or self.get_json_tools()

    def pop_tool_ids(self) -> None:
        """Drop the last of the metadata's `tool_ids`."""
        if self.metadata.tool_ids:
            self.metadata.tool_ids.pop()

    def log_fields(self) -> ChatDocLoggerFields:
        """Return what a log line says of this message."""
        kind, tool = "", ""
        if self.oai_tool_calls:
            kind, tool = "OAI_TOOL", ", ".join(c.function.name for c in self.oai_tool_calls if c.function)
        elif self.function_call is not None:
            kind, tool = "FUNC", self.function_call.name
        elif names := self.get_json_tools() or [tool.request for tool in self.tool_messages]:
            kind, tool = "TOOL", names[0]
        meta = self.metadata
        return ChatDocLoggerFields(
            sender_entity=meta.sender.value,
            sender_name=meta.sender_name,
            recipient=meta.recipient,
            block=meta.block.value if meta.block else "",
            tool_type=kind,
            tool=tool,
            content=self.content,
        )

    def tsv_str(self) -> str:
        """The log line as tab-separated values; see `tsv_field`."""
        return "\t".join(tsv_field(str(value)) for value in self.log_fields().model_dump().values())


# Quicker than the setters of pydantic and of `object`, as in `LinkedDocument`.
_set_found = ChatDocument.__dict__["_found"].__set__
_set_objects = ChatDocument.__dict__["_objects"].__set__
