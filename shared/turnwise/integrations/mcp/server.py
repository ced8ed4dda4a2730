"""The tools of a server, as an application holds them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from turnwise.base.background_loop import await_in_background, run_in_background
from turnwise.errors import ConfigurationError
from turnwise.integrations.mcp.connection import Connection, ToolRefusedError
from turnwise.integrations.mcp.result import ServerAnswer, answer_of, as_document
from turnwise.integrations.mcp.specs import address_of
from turnwise.integrations.mcp.tool import MCPTool, class_of, name_for
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.tool_message import ToolEffect, ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT
from turnwise.messages.tools.recipient import AddRecipientTool, RecipientTool
from turnwise.messages.tools.rewind import RewindTool

if TYPE_CHECKING:
    from turnwise.messages.document import ChatDocument


class MCPTools:
    """The tools of an MCP server: `agent.enable_message(MCPTools("python server.py").tools())`.

    `server` is a URL (streamable HTTP), a command (one line, or its words) that is started and spoken to over its
    standard input and output, the path of a script, a server object in this process, a transport of the `fastmcp`
    library, or a function that returns one of these. `prefix` goes before the
    server's names, to tell tools of several servers apart; `include` and `exclude` are server's names. `effects` say
    what the tools do outside (see `ToolMessage`), all of them or each by the server's name, where the annotations of
    the server (`readOnlyHint`, `idempotentHint`) are missing or wrong; what neither tells of is "once". `headers` go
    with every request to a URL; `env` and `cwd` are the command's. With `forward_images` images in an answer are sent
    to the model. Times are in seconds: a call takes at most `timeout`, connecting `connect_timeout`, and a connection
    without calls is closed after `idle`.

    Each process has one connection, which opens at the first use, is shared by threads and event loops, and opens
    again when the server went away. `close` ends it; so does the end of the program. Needs the extra `mcp`.
    """

    def __init__(
        self,
        server: str | Sequence[str] | Any,
        *,
        prefix: str = "",
        include: Collection[str] | None = None,
        exclude: Collection[str] = (),
        effects: Mapping[str, ToolEffect] | ToolEffect | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        forward_images: bool = False,
        timeout: float = 60.0,
        connect_timeout: float = 30.0,
        idle: float = 300.0,
    ) -> None:
        self._address = address_of(server, headers, env, cwd)
        self._address.check()
        for setting, names in (("include", include), ("exclude", exclude)):
            if isinstance(names, str):
                raise ConfigurationError(f"{setting} is the text {names!r}; expected names, such as [{names!r}]")
        self._prefix = prefix
        self._include = include
        self._exclude = exclude
        self._effects = effects
        self._forward_images = forward_images
        self._timeout = timeout
        self._times = {"connect_timeout": connect_timeout, "idle": idle}
        # By process: a forked child opens its own, and must not disturb its parent's.
        self._connections: dict[int, Connection] = {}
        self._classes: list[type[MCPTool]] | None = None

    def tools(self) -> list[type[MCPTool]]:
        """The server's tools as classes; it is asked once.

        Raises `ToolServerUnavailableError` for a server that cannot be reached, and `ConfigurationError` for a name
        that is taken twice, belongs to a tool of Turnwise, or is included but not there.
        """
        if self._classes is None:
            self._classes = self._as_classes(run_in_background(self._listed))
        return list(self._classes)

    async def tools_async(self) -> list[type[MCPTool]]:
        """The same, without blocking the event loop."""
        if self._classes is None:
            self._classes = self._as_classes(await await_in_background(self._listed))
        return list(self._classes)

    def close(self) -> None:
        """End this process's connection, and the command that was started for it; the next call opens another."""
        if os.getpid() in self._connections:
            run_in_background(self._closed)

    async def close_async(self) -> None:
        """The same, without blocking the event loop."""
        if os.getpid() in self._connections:
            await await_in_background(self._closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_async()

    def call(self, agent: HandlingAgent, tool: str, arguments: dict[str, Any]) -> ChatDocument:
        """The answer of the server's `tool`, as a message of the agent."""
        return as_document(agent, self.answer(tool, arguments))

    async def call_async(self, agent: HandlingAgent, tool: str, arguments: dict[str, Any]) -> ChatDocument:
        """The same, without blocking the event loop."""
        return as_document(agent, await self.answer_async(tool, arguments))

    def answer(self, tool: str, arguments: dict[str, Any]) -> ServerAnswer:
        """The answer of the server's `tool`, as a text with files."""
        return run_in_background(lambda: self._answered(tool, arguments))

    async def answer_async(self, tool: str, arguments: dict[str, Any]) -> ServerAnswer:
        """The same, without blocking the event loop."""
        return await await_in_background(lambda: self._answered(tool, arguments))

    async def definitions_async(self) -> list[Any]:
        """The server's own descriptions of all its tools."""
        return await await_in_background(self._listed)

    async def _answered(self, tool: str, arguments: dict[str, Any]) -> ServerAnswer:
        try:
            result = await self._connection().call(tool, arguments, self._timeout)
        except ToolRefusedError as error:
            # For the model, which may do better, or do without.
            return ServerAnswer.of_failure(tool, str(error))
        return answer_of(tool, result, forward_images=self._forward_images)

    async def _listed(self) -> list[Any]:
        return await self._connection().tools()

    async def _closed(self) -> None:
        await self._connections[os.getpid()].close()

    def _connection(self) -> Connection:
        """Return this process's connection; called on the background loop only."""
        process = os.getpid()
        if process not in self._connections:
            self._connections[process] = Connection(self._address, **self._times)
            # Runs before the loop itself is stopped, which was registered earlier.
            atexit.register(self._close_at_exit, process)
        return self._connections[process]

    def _close_at_exit(self, process: int) -> None:
        if process == os.getpid():
            self.close()

    def _as_classes(self, definitions: list[Any]) -> list[type[MCPTool]]:
        listed = [definition.name for definition in definitions]
        named = {*(self._include or ()), *(self._effects if isinstance(self._effects, Mapping) else ())}
        missing = sorted(named - set(listed))
        if missing:
            raise ConfigurationError(
                f"the MCP server {self._address} has no tool {', '.join(missing)}; it has {', '.join(sorted(listed))}"
            )
        classes: dict[str, type[MCPTool]] = {}
        for definition in definitions:
            if definition.name in self._exclude or (self._include is not None and definition.name not in self._include):
                continue
            name = name_for(definition, self._prefix)
            if name in classes or name in _TAKEN:
                raise ConfigurationError(
                    f"the tool {definition.name!r} of the MCP server {self._address} would be called {name!r}, like "
                    "another one; give the server's tools a prefix, or leave it out with exclude=[...]"
                )
            classes[name] = class_of(definition, self, name, self._effect(definition.name))
        return list(classes.values())

    def _effect(self, tool: str) -> ToolEffect | None:
        effects = self._effects
        return effects.get(tool) if isinstance(effects, Mapping) else effects


# A server must not take the place of a tool that steers conversations.
_STEERING: list[type[ToolMessage]] = [*HANDLED_BY_DEFAULT, RecipientTool, AddRecipientTool, RewindTool]
_TAKEN = frozenset(tool.name() for tool in _STEERING)
