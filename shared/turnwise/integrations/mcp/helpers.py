"""Tools of MCP servers by functions and a decorator, by the names that Langroid gives them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Self

from turnwise.errors import ConfigurationError
from turnwise.integrations.mcp.result import ServerAnswer
from turnwise.integrations.mcp.server import MCPTools
from turnwise.integrations.mcp.tool import MCPTool, with_members

_UNSUPPORTED = ("sampling_handler", "roots", "log_handler", "message_handler")


class FastMCPClient:
    """The tools of one MCP server: `async with FastMCPClient(server) as client: await client.get_tools_async()`.

    `server` is a URL, a command, the path of a script, a server object, a transport of the `fastmcp` library, or a
    function that returns one of these. The settings:

    - `persist_connection`: keeps the connection open after the block, for tools that are used there. It closes when it
      was idle for a while; tools that are used without it open it again.
    - `forward_images`: images in a tool's result are sent to the model. `forward_text_resources` and
      `forward_blob_resources` change nothing: texts are part of the answer, and data is in its `files`.
    - `read_timeout_seconds`: a `timedelta` or seconds that a call may take, 60 by default.

    `MCPTools` does the same with more settings. Raises `ConfigurationError` for handlers of sampling, roots, logs and
    messages, which are not supported, and `ToolServerUnavailableError` for a server that cannot be reached.
    """

    def __init__(
        self,
        server: Any,
        persist_connection: bool = False,
        forward_images: bool = True,
        forward_text_resources: bool = False,
        forward_blob_resources: bool = False,
        read_timeout_seconds: timedelta | float | None = None,
        **handlers: Any,
    ) -> None:
        for name, handler in handlers.items():
            if name not in _UNSUPPORTED:
                raise TypeError(f"FastMCPClient() got an unexpected keyword argument {name!r}")
            if handler is not None:
                raise ConfigurationError(f"{name} is not supported, as servers are asked for tools alone; leave it out")
        seconds = read_timeout_seconds
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        self.persist_connection = persist_connection
        self._server = MCPTools(server, forward_images=forward_images, timeout=60.0 if seconds is None else seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.persist_connection:
            await self.close()

    async def connect(self) -> None:
        """Open the connection now; else the first use does."""
        await self._server.tools_async()

    async def close(self) -> None:
        """End the connection; the next use opens another."""
        await self._server.close_async()

    async def get_tools_async(self) -> list[type[MCPTool]]:
        """Return the server's tools as classes, for `agent.enable_message`."""
        return await self._server.tools_async()

    async def get_tool_async(self, tool_name: str) -> type[MCPTool]:
        """Return the tool of that name as a class; raises `ConfigurationError` if the server has none."""
        return _of_name(await self.get_tools_async(), tool_name)

    async def get_mcp_tool_async(self, name: str) -> Any | None:
        """Return the server's own description of a tool (`mcp.types.Tool`), None if it has none of that name."""
        return next((tool for tool in await self._server.definitions_async() if tool.name == name), None)

    async def get_mcp_tools_async(self) -> list[Any]:
        """Return the server's own descriptions of its tools."""
        return await self._server.definitions_async()

    async def call_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> tuple[str, list[Any]]:
        """Call a tool; returns the text and the files of its answer."""
        found: ServerAnswer = await self._server.answer_async(tool_name, arguments)
        return str(found), list(found.files)


async def get_tools_async(server: Any, **settings: Any) -> list[type[MCPTool]]:
    """Return the tools of an MCP server as classes, for `agent.enable_message`.

    `server` and `settings` are those of `FastMCPClient`.
    """
    return await FastMCPClient(server, **settings).get_tools_async()


async def get_tool_async(server: Any, tool_name: str, **settings: Any) -> type[MCPTool]:
    """Return one tool of an MCP server as a class; raises `ConfigurationError` if the server has none of that name."""
    return await FastMCPClient(server, **settings).get_tool_async(tool_name)


def get_tools(server: Any, **settings: Any) -> list[type[MCPTool]]:
    """The same as `get_tools_async`, for programs without an event loop."""
    return FastMCPClient(server, **settings)._server.tools()


def get_tool(server: Any, tool_name: str, **settings: Any) -> type[MCPTool]:
    """The same as `get_tool_async`, for programs without an event loop."""
    return _of_name(get_tools(server, **settings), tool_name)


async def get_mcp_tool_async(server: Any, name: str, **settings: Any) -> Any | None:
    """Return the server's own description of a tool (`mcp.types.Tool`), None if it has none of that name."""
    return await FastMCPClient(server, **settings).get_mcp_tool_async(name)


async def get_mcp_tools_async(server: Any, **settings: Any) -> list[Any]:
    """Return the server's own descriptions of its tools (`mcp.types.Tool`)."""
    return await FastMCPClient(server, **settings).get_mcp_tools_async()


def mcp_tool(server: Any, tool_name: str) -> Callable[[type], type[MCPTool]]:
    """Make the decorated class the tool of that name at an MCP server.

    The class gets the tool's fields, and keeps its own methods. It may bring a `handle` or `handle_async`, where
    `self.call_tool()` and `await self.call_tool_async()` give the text of the server's answer. The server is asked when
    the class is defined. Raises `ConfigurationError` if it has no tool of that name.
    """

    def decorate(own: type) -> type[MCPTool]:
        return with_members(get_tool(server, tool_name), own)

    return decorate


def _of_name(tools: list[type[MCPTool]], name: str) -> type[MCPTool]:
    for tool in tools:
        if name in (tool._remote.name, tool.name()):
            return tool
    known = ", ".join(sorted(tool.name() for tool in tools)) or "none"
    raise ConfigurationError(f"the MCP server has no tool {name!r}; it has: {known}")
