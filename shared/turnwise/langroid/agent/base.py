"""Names of `langroid.agent.base`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import NO_ANSWER, Agent, ChatDocMetaData, ChatDocument, Entity, ToolMessage
    from turnwise.porting.settings import AgentConfig

__all__ = [
    "NO_ANSWER",
    "Agent",
    "AgentConfig",
    "ChatDocMetaData",
    "ChatDocument",
    "Entity",
    "ToolMessage",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
