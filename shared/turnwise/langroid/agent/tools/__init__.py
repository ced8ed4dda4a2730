"""Names of `langroid.agent.tools`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        AddRecipientTool,
        AgentDoneTool,
        AgentSendTool,
        DonePassTool,
        DoneTool,
        FinalResultTool,
        ForwardTool,
        PassTool,
        RecipientTool,
        ResultTool,
        RewindTool,
        SendTool,
    )
    from turnwise.langroid.agent.tools import mcp, orchestration, recipient_tool, retrieval_tool, rewind_tool, task_tool

__all__ = [
    "AddRecipientTool",
    "AgentDoneTool",
    "AgentSendTool",
    "DonePassTool",
    "DoneTool",
    "FinalResultTool",
    "ForwardTool",
    "PassTool",
    "RecipientTool",
    "ResultTool",
    "RewindTool",
    "SendTool",
    "mcp",
    "orchestration",
    "recipient_tool",
    "retrieval_tool",
    "rewind_tool",
    "task_tool",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
