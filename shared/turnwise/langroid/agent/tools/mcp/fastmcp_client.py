"""Names of `langroid.agent.tools.mcp.fastmcp_client`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        FastMCPClient,
        get_mcp_tool_async,
        get_mcp_tools_async,
        get_tool,
        get_tool_async,
        get_tools,
        get_tools_async,
        mcp_tool,
    )

__all__ = [
    "FastMCPClient",
    "get_mcp_tool_async",
    "get_mcp_tools_async",
    "get_tool",
    "get_tool_async",
    "get_tools",
    "get_tools_async",
    "mcp_tool",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
