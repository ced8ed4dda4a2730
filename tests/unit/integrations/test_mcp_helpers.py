"""Tools of MCP servers by functions and a decorator, and the forms in which a server is named."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from mcp.server import MCPServer
from tests.support.mcp_server import make_server

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    FastMCPClient,
    FileAttachment,
    MockLMConfig,
    Task,
    ToolMessage,
    get_mcp_tool_async,
    get_mcp_tools_async,
    get_tool,
    get_tool_async,
    get_tools,
    get_tools_async,
    mcp_tool,
)
from turnwise.errors import ConfigurationError
from turnwise.integrations.mcp.specs import address_of

ADD = '{"request": "add", "a": 3, "b": 4}'


def agent_with(*tools: type[ToolMessage], says: str = ADD) -> ChatAgent:
    model = MockLMConfig(response_fn=lambda text: says if text == "go" else f"DONE {text}")
    agent = ChatAgent(ChatAgentConfig(llm=model))
    agent.enable_message(list(tools))
    return agent


def result_of(agent: ChatAgent) -> str | None:
    result = Task(agent, interactive=False).run("go")
    return None if result is None else result.content


async def result_of_async(agent: ChatAgent) -> str | None:
    result = await Task(agent, interactive=False).run_async("go")
    return None if result is None else result.content


def run(coroutine: Any) -> Any:
    import asyncio

    return asyncio.run(coroutine)


def test_tools_are_had_in_and_out_of_an_event_loop() -> None:
    server = make_server()
    names = {tool.name() for tool in get_tools(server)}

    assert {tool.name() for tool in run(get_tools_async(server))} == names >= {"add", "move"}
    assert get_tool(server, "add").name() == run(get_tool_async(server, "add")).name() == "add"
    assert {tool.name for tool in run(get_mcp_tools_async(server))} == names
    assert run(get_mcp_tool_async(server, "move")).description == "Move a point."
    assert run(get_mcp_tool_async(server, "fly")) is None
    with pytest.raises(ConfigurationError, match=r"no tool 'fly'.*add"):
        get_tool(server, "fly")


def test_a_tool_that_was_got_is_called_in_each_kind_of_run() -> None:
    tool = get_tool(make_server(), "add")

    assert result_of(agent_with(tool)) == "7"
    assert run(result_of_async(agent_with(tool))) == "7"


def test_a_function_may_make_the_server() -> None:
    made: list[MCPServer] = []

    def make() -> MCPServer:
        made.append(make_server())
        return made[-1]

    assert result_of(agent_with(get_tool(make, "add"))) == "7"
    assert len(made) == 1


def test_a_decorated_class_keeps_its_own_handler_in_each_kind_of_run() -> None:
    @mcp_tool(make_server(), "add")
    class AddTool(ToolMessage):
        """Adds aloud."""

        _max_result_tokens = 50

        async def handle_async(self) -> str:
            return f"{self.a} + {self.b} = {await self.call_tool_async()}"  # type: ignore[attr-defined]

    assert (AddTool.__name__, AddTool.name(), AddTool.private_default("_max_result_tokens")) == ("AddTool", "add", 50)
    assert result_of(agent_with(AddTool)) == "3 + 4 = 7"
    assert run(result_of_async(agent_with(AddTool))) == "3 + 4 = 7"


def test_a_decorated_class_need_be_no_tool_and_need_not_handle() -> None:
    @mcp_tool(make_server(), "add")
    class Adding:
        def pretty(self) -> str:
            return f"{self.a} and {self.b}"  # type: ignore[attr-defined]

    made: Any = Adding  # a type checker sees the class as it was before
    assert made.model_validate({"a": 3, "b": 4}).pretty() == "3 and 4"
    assert result_of(agent_with(made)) == "7"


def test_a_handler_may_call_the_server_without_an_event_loop() -> None:
    @mcp_tool(make_server(), "add")
    class AddTool(ToolMessage):
        purpose: str = "To add <a> and <b> in my way."

        def handle(self) -> str:
            return f"about {self.call_tool()}"  # type: ignore[attr-defined]

    assert AddTool.llm_function_schema().description == "To add <a> and <b> in my way."
    assert result_of(agent_with(AddTool)) == "about 7"


def test_a_client_gives_tools_that_work_in_its_block_and_after_it() -> None:
    async def main() -> tuple[Any, ...]:
        client = FastMCPClient(make_server(), persist_connection=True, read_timeout_seconds=timedelta(seconds=20))
        async with client:
            tool = await client.get_tool_async("add")
            inside = await result_of_async(agent_with(tool))
            called = await client.call_mcp_tool("add", {"a": 1})
        after = await result_of_async(agent_with(tool))
        await client.close()
        return inside, called, after

    assert run(main()) == ("7", ("3", []), "7")


def test_the_images_of_an_answer_are_for_the_model() -> None:
    picture = get_tool(make_server(), "picture")
    agent = agent_with(picture, says='{"request": "picture"}')
    answer = agent.agent_response(agent.create_llm_response('{"request": "picture"}'))

    assert answer is not None
    assert [type(file) for file in answer.files] == [FileAttachment]
    assert (answer.files[0].mime_type, answer.files[0].content) == ("image/png", b"\x89PNG")


def test_what_a_client_cannot_do_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="sampling_handler is not supported"):
        FastMCPClient(make_server(), sampling_handler=print)
    with pytest.raises(TypeError, match="nonsense"):
        FastMCPClient(make_server(), nonsense=1)
    FastMCPClient(make_server(), roots=None)


class Transport:
    """As those of the `fastmcp` library look from outside."""

    def connect_session(self) -> None: ...


class StdioTransport(Transport):
    command = "npx"
    args: ClassVar[list[str]] = ["-y", "some-server"]
    env: ClassVar[dict[str, str]] = {"KEY": "v"}
    cwd = "/tmp"


class SSETransport(Transport):
    url = "https://example.org/sse"
    headers: ClassVar[dict[str, str]] = {"x": "y"}
    auth: Any = None


class Bearer:
    token = "secret"


class StreamableHttpTransport(SSETransport):
    url = "https://example.org/mcp"
    auth = Bearer()


class InMemory(Transport):
    server = make_server()


class Queue(Transport):
    pass


def test_each_form_of_a_server_leads_to_an_address() -> None:
    assert address_of("tests/a_server.py").command == [sys.executable, "tests/a_server.py"]
    assert address_of("server.js").command == ["node", "server.js"]
    assert address_of("uvx mcp-server-time").command == ["uvx", "mcp-server-time"]
    started = address_of(lambda: StdioTransport())
    assert (started.command, started.env, started.cwd) == (["npx", "-y", "some-server"], {"KEY": "v"}, "/tmp")
    events = address_of(SSETransport())
    assert (events.url, dict(events.headers), events.sse) == ("https://example.org/sse", {"x": "y"}, True)
    streamed = address_of(StreamableHttpTransport())
    assert (streamed.url, streamed.headers["Authorization"], streamed.sse) == (
        "https://example.org/mcp",
        "Bearer secret",
        False,
    )
    assert address_of(InMemory()).server is InMemory.server
    with pytest.raises(ConfigurationError, match="by a Queue"):
        address_of(Queue())


def test_a_setting_of_a_tool_may_be_changed_after_it_was_got() -> None:
    tool = get_tool(make_server(), "add")
    assert tool.private_default("_max_result_tokens") is None

    tool._max_result_tokens = 5000
    assert tool.private_default("_max_result_tokens") == 5000
    assert ToolMessage.private_default("_max_result_tokens") is None


def test_a_path_may_have_blanks_and_be_a_path_object(tmp_path: Path) -> None:
    script = tmp_path / "my tools" / "server.py"
    script.parent.mkdir()
    script.write_text("")
    here = [sys.executable, str(script)]

    assert address_of(str(script)).command == here
    assert address_of(script).command == here
    assert address_of("my tools/server.py", cwd=tmp_path).command == [sys.executable, "my tools/server.py"]
    assert address_of(["uv", "run", script]).command == ["uv", "run", str(script)]
    # No such file: a command line.
    assert address_of("my tools/server.py").command == ["my", "tools/server.py"]


@pytest.mark.parametrize("given", [3, None, b"server.py", [1], {"url": "x"}, "ws://example.org"], ids=repr)
def test_anything_else_is_no_server(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="MCP server"):
        address_of(given)
