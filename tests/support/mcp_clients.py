"""Clients of `turnwise mcp`, by the protocol's own library."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, ElicitResult

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "turnwise.cli.main", "mcp"]
# The era of the protocol: the newest that both sides know, or the one of handshakes.
Mode = Literal["auto", "legacy"]


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TURNWISE_")}
    return {**clean, "PYTHONPATH": str(ROOT), **more}


class Person:
    """Sits at the client, and says `answer` to each question; None is to decline."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        if self.answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"answer": self.answer})


@asynccontextmanager
async def over_http(address: str, mode: Mode, key: str, person: Person | None = None) -> AsyncIterator[McpClient]:
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http:
        transport = streamable_http_client(address, http_client=http)
        async with McpClient(transport, mode=mode, elicitation_callback=person) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    *arguments: str,
    mode: Mode,
    folder: Path,
    key: str = "",
    person: Person | None = None,
    noise: list[Any] | None = None,
) -> AsyncIterator[McpClient]:
    async def handle(message: Any) -> None:
        if noise is not None and isinstance(message, Exception):
            noise.append(message)

    program, *first = COMMAND
    process = StdioServerParameters(
        command=program, args=[*first, *arguments], cwd=folder, env=environment(TURNWISE_API_KEY=key)
    )
    async with McpClient(process, mode=mode, elicitation_callback=person, message_handler=handle) as client:
        yield client


def text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def fields(result: CallToolResult) -> dict[str, Any]:
    told = result.structured_content
    assert isinstance(told, dict)
    return told
