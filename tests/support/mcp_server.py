"""A real MCP server for tests: `python tests/support/mcp_server.py` over stdio, with a port over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, Literal

from mcp.server import MCPServer
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextResourceContents,
)
from pydantic import BaseModel, Field


class Point(BaseModel):
    x: int
    y: int = 0


def make_server() -> MCPServer:
    """A new server with the tools below."""
    server = MCPServer("tests", log_level="CRITICAL")
    for tool in (add, describe, move, fail, sleep, picture, attach, nothing, process, die, environment):
        server.tool()(tool)
    return server


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def describe(id: str, name: str = "", kind: Literal["cat", "dog"] | None = None, tags: list[str] | None = None) -> str:
    """Describe a pet."""
    return f"{id} {name} {kind} {tags}"


def move(point: Point, by: float = Field(default=1.0, description="How far.")) -> Point:
    """Move a point."""
    return Point(x=point.x + int(by), y=point.y)


def fail(reason: str) -> CallToolResult:
    """Fail."""
    return CallToolResult(content=[_text(reason)], is_error=True)


async def sleep(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "awake"


def picture() -> CallToolResult:
    """Paint."""
    return CallToolResult(content=[_text("Here it is."), ImageContent(data="iVBORw==", mime_type="image/png")])


def attach() -> CallToolResult:
    """Attach."""
    return CallToolResult(
        content=[
            EmbeddedResource(resource=TextResourceContents(uri="mem://note", text="a note")),
            EmbeddedResource(resource=BlobResourceContents(uri="mem://data", mime_type="x/y", blob="AAAA")),
            ResourceLink(name="page", uri="https://example.org/"),
        ]
    )


def nothing() -> CallToolResult:
    """Do nothing."""
    return CallToolResult(content=[])


def process() -> int:
    """The process of the server."""
    return os.getpid()


def die() -> str:
    """Die."""
    os._exit(3)


def environment(name: str) -> str:
    """Look a variable up."""
    return os.environ.get(name, "")


def _text(text: str) -> Any:
    from mcp_types import TextContent

    return TextContent(text=text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        make_server().run("streamable-http", port=int(sys.argv[1]))
    else:
        make_server().run("stdio")
