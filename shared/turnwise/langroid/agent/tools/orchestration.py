"""Names of `langroid.agent.tools.orchestration`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        AgentDoneTool,
        AgentSendTool,
        DonePassTool,
        DoneTool,
        FinalResultTool,
        ForwardTool,
        PassTool,
        ResultTool,
        SendTool,
    )

__all__ = [
    "AgentDoneTool",
    "AgentSendTool",
    "DonePassTool",
    "DoneTool",
    "FinalResultTool",
    "ForwardTool",
    "PassTool",
    "ResultTool",
    "SendTool",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
