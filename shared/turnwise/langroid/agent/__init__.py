"""Names of `langroid.agent`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import Agent, ChatAgent, ChatDocLoggerFields, ChatDocMetaData, ChatDocument, Task, ToolMessage
    from turnwise.langroid.agent import (
        base,
        batch,
        callbacks,
        chat_agent,
        chat_document,
        done_sequence_parser,
        special,
        task,
        tool_message,
        tools,
        xml_tool_message,
    )
    from turnwise.porting.settings import AgentConfig, ChatAgentConfig

__all__ = [
    "Agent",
    "AgentConfig",
    "ChatAgent",
    "ChatAgentConfig",
    "ChatDocLoggerFields",
    "ChatDocMetaData",
    "ChatDocument",
    "Task",
    "ToolMessage",
    "base",
    "batch",
    "callbacks",
    "chat_agent",
    "chat_document",
    "done_sequence_parser",
    "special",
    "task",
    "tool_message",
    "tools",
    "xml_tool_message",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
