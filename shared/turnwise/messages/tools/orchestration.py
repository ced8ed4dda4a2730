"""Tools with which models and handlers end tasks, and hand messages on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, Field, SerializeAsAny, field_validator

from turnwise.base.text import value_as_text
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.provenance import untrusted
from turnwise.messages.tool_message import ToolEffect, ToolMessage


class AgentDoneTool(ToolMessage):
    """Ends the task with `content` (any value) and `tools`; for handlers only."""

    request: str = "agent_done_tool"
    purpose: str = "To end the current task, with <content> and <tools> as its result."
    content: Any = None
    tools: list[SerializeAsAny[ToolMessage]] = Field(default_factory=list)
    _allow_llm_use: bool = False
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True
    # The content was taken from a tainted message, or from one that is quoted.
    _tainted: bool = False
    _quoted: bool = False
    # The content as it was read, and the text that it had before it was JSON.
    _read: tuple[Any, str] | None = None

    def response(self, agent: HandlingAgent) -> ChatDocument:
        """An AGENT message that holds this tool and the tools it carries."""
        result = agent.create_agent_response(text_of(self), content_any=self.content, tool_messages=[self, *self.tools])
        result.metadata.tainted, result.metadata.quoted = self._tainted, self._quoted
        return result


class DoneTool(ToolMessage):
    """Ends the task with `content`, any value as text; for models and handlers."""

    request: str = "done_tool"
    purpose: str = "To end the current task, with <content> as its result."
    content: str = ""
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    @field_validator("content", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> str:
        """Any value is taken, as text."""
        return value_as_text(value)

    if TYPE_CHECKING:
        # Without it a type checker would refuse values that are no text.
        def __init__(self, *, content: Any = "", request: str = ..., purpose: str = ..., id: str = ...) -> None: ...

    def response(self, agent: HandlingAgent) -> ChatDocument:
        """An AGENT message that holds this tool."""
        return agent.create_agent_response(self.content, content_any=self.content, tool_messages=[self])


def text_of(tool: AgentDoneTool | DoneTool) -> str:
    """Return the content as text: that of the handler's own value, also where the value is only JSON by now."""
    if isinstance(tool, AgentDoneTool) and tool._read is not None and tool._read[0] is tool.content:
        return tool._read[1]
    return value_as_text(tool.content)


class ResultTool(ToolMessage):
    """Ends the task; the tool itself, with whatever fields it was given, is in the result. For handlers only."""

    model_config = ConfigDict(extra="allow", validate_default=True)

    request: str = "result_tool"
    purpose: str = "To end the current task with a structured result."
    _allow_llm_use: bool = False
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    if TYPE_CHECKING:
        # Without it a type checker would refuse the fields that anyone may add.
        def __init__(self, **fields: Any) -> None: ...

    def handle(self) -> AgentDoneTool:
        """Ends the task with this tool as what it carries."""
        return AgentDoneTool(tools=[self])


class FinalResultTool(ToolMessage):
    """Ends this task and every caller, and is the root's result. It is attached, never handled.

    A subclass with `_allow_llm_use = True` may be used by a model.
    """

    model_config = ConfigDict(extra="allow", validate_default=True)

    # No name: it is never written by a model, unless a subclass gives it one.
    request: str = ""
    purpose: str = "To end the current task and all its callers with a structured result."
    _allow_llm_use: bool = False
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...


class PassTool(ToolMessage):
    """Hands on the message being handled, or its nearest ancestor without this tool, as from AGENT."""

    request: str = "pass_tool"
    purpose: str = "To pass the current message on, so that another agent can answer it."
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    def response(self, agent: HandlingAgent, chat_doc: ChatDocument) -> ChatDocument:
        """A copy of the message to hand on; it keeps every mark of where the text came from."""
        doc = handed_on(type(self), chat_doc, lambda message: agent.get_tool_messages(message, True))
        copy = ChatDocument.deepcopy(doc)
        # As from AGENT it would be trusted, if it was not said here that it is not.
        copy.metadata.tainted = untrusted(doc)
        copy.metadata.sender = Entity.AGENT
        return copy


def handed_on(
    kind: type[PassTool], message: ChatDocument, tools_in: Callable[[ChatDocument], Sequence[ToolMessage]]
) -> ChatDocument:
    """The message itself, if it does not hold a tool of that kind, else its nearest ancestor that does not."""
    while any(isinstance(tool, kind) for tool in tools_in(message)):
        if message.parent is None:
            break
        message = message.parent
    return message


class DonePassTool(PassTool):
    """Ends the task with the message that PassTool would hand on."""

    request: str = "done_pass_tool"
    purpose: str = "To end the current task, with the current message as its result."
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True

    def response(  # type: ignore[override]
        self, agent: HandlingAgent, chat_doc: ChatDocument
    ) -> AgentDoneTool:
        """An AgentDoneTool that carries the text and the tools of the message."""
        passed = super().response(agent, chat_doc)
        done = AgentDoneTool(content=passed.content, tools=agent.get_tool_messages(passed, True))
        done._tainted, done._quoted = passed.metadata.tainted, passed.metadata.quoted
        return done


class ForwardTool(PassTool):
    """Hands the message on as PassTool does, to the agent or entity named `agent`."""

    request: str = "forward_tool"
    purpose: str = "To forward the current message to the agent or entity named <agent>."
    agent: str
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True

    def response(self, agent: HandlingAgent, chat_doc: ChatDocument) -> ChatDocument:
        """The message to hand on, addressed."""
        passed = super().response(agent, chat_doc)
        passed.metadata.recipient = self.agent
        return passed


class SendTool(ToolMessage):
    """Sends the text `content` to the agent or entity named `to`; for models and handlers."""

    request: str = "send_tool"
    purpose: str = "To send the message <content> to the agent or entity named <to>."
    to: str
    content: str = ""
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    def response(self, agent: HandlingAgent) -> ChatDocument:
        """An addressed AGENT message."""
        return agent.create_agent_response(self.content, content_any=self.content, recipient=self.to)


class AgentSendTool(ToolMessage):
    """Sends the text `content` and `tools` to the agent or entity named `to`; for handlers only."""

    request: str = "agent_send_tool"
    purpose: str = "To send the message <content> and <tools> to the agent or entity named <to>."
    to: str
    content: str = ""
    tools: list[SerializeAsAny[ToolMessage]] = Field(default_factory=list)
    _allow_llm_use: bool = False
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True
    _steers: ClassVar[bool] = True

    def response(self, agent: HandlingAgent) -> ChatDocument:
        """An addressed AGENT message that carries the tools."""
        return agent.create_agent_response(
            self.content, content_any=self.content, recipient=self.to, tool_messages=list(self.tools)
        )


# Handled by every agent with `enable_orchestration_tool_handling`.
HANDLED_BY_DEFAULT: tuple[type[ToolMessage], ...] = (
    AgentDoneTool,
    DoneTool,
    PassTool,
    DonePassTool,
    ForwardTool,
    SendTool,
    AgentSendTool,
    ResultTool,
)

# At most one of these may be in a message, because each says where the conversation goes.
ONE_AT_A_TIME: tuple[type[ToolMessage], ...] = (
    AgentDoneTool,
    DoneTool,
    PassTool,
    DonePassTool,
    ForwardTool,
    SendTool,
    AgentSendTool,
)
