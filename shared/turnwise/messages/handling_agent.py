"""The part of an agent that the tools of this library use, so that messages need not import agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMMessage, Role


class KeptMessage(BaseModel):
    """A model's message that waits for its recipient."""

    content: str
    tainted: bool = False


class KeptState(Protocol):
    """The part of an agent's saved state that tools write."""

    kept_message: KeptMessage | None


class KnownConversation(Protocol):
    """The documents of an agent's conversation."""

    def find(self, document_id: str, /) -> ChatDocument | None: ...


class AgentName(Protocol):
    """The part of an agent's configuration that tools read."""

    name: str


class HandlingAgent(Protocol):
    """The agent that handles a tool; `ChatAgent` is one."""

    # A handler's parameter of this type is given the agent.
    _offered_as: ClassVar[str] = "agent"

    @property
    def id(self) -> str: ...

    @property
    def config(self) -> AgentName: ...

    @property
    def record(self) -> KeptState: ...

    @property
    def message_history(self) -> list[LLMMessage]: ...

    @property
    def history(self) -> KnownConversation: ...

    def get_tool_messages(self, msg: ChatDocument, all_tools: bool = ..., /) -> list[ToolMessage]: ...

    def nth_message_idx_with_role(self, role: Role | str, n: int, /) -> int: ...

    def clear_history(self, start: int = ..., /) -> None: ...

    def create_agent_response(
        self,
        content: str | None = None,
        *,
        content_any: Any = None,
        tool_messages: Sequence[ToolMessage] = (),
        recipient: str = "",
    ) -> ChatDocument: ...

    def create_llm_response(self, content: str | None = None) -> ChatDocument: ...

    def enable_message(self, message_class: type[ToolMessage], /) -> None: ...

    def disable_message_use(self, message_class: type[ToolMessage], /) -> None: ...

    def disable_message_handling(self, message_class: type[ToolMessage], /) -> None: ...
