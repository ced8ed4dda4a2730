"""Names of `langroid.agent.chat_agent`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import Agent, ChatAgent, ChatDocument, Entity, ToolMessage
    from turnwise.porting.settings import AgentConfig, ChatAgentConfig

__all__ = [
    "Agent",
    "AgentConfig",
    "ChatAgent",
    "ChatAgentConfig",
    "ChatDocument",
    "Entity",
    "ToolMessage",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
