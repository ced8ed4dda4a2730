"""Tools of an MCP server, which runs in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.server import MCPServer
from tests.support.mcp_calls import agent_with, answer, from_llm
from tests.support.mcp_server import make_server

from turnwise import (
    ChatAgent,
    ChatDocument,
    LLMFunctionCall,
    MCPTools,
    MockLMConfig,
    OpenAIToolCall,
    Task,
)
from turnwise.errors import ConfigurationError, ToolServerUnavailableError
from turnwise.messages.wire import decode_tool, encode_tool


@pytest.fixture
def server() -> Iterator[MCPTools]:
    with MCPTools(make_server()) as tools:
        yield tools


def test_the_model_sees_the_servers_own_schemas(server: MCPTools) -> None:
    classes = {tool.name(): tool for tool in server.tools()}

    spec = classes["move"].llm_function_schema()

    assert spec.name == "move"
    assert spec.description == "Move a point."
    assert spec.parameters["properties"]["point"] == {"$ref": "#/$defs/Point"}
    assert spec.parameters["properties"]["by"]["description"] == "How far."
    assert spec.parameters["$defs"]["Point"]["required"] == ["x"]
    assert spec.parameters["required"] == ["point"]
    assert '"enum": [\n                "add"' in classes["add"].format_instructions(tool=True)
    assert list(classes["add"].llm_function_schema(request=True, defaults=False).parameters["properties"]) == [
        "a",
        "request",
    ]


def test_a_call_is_answered_by_the_server_in_sync_and_async_runs(server: MCPTools) -> None:
    agent = agent_with(server)
    message = from_llm('{"request": "add", "a": 40}')

    answers = agent.agent_response(message), asyncio.run(agent.agent_response_async(message))

    assert [doc.content for doc in answers if doc] == ["42", "42"]


def test_calls_of_an_api_and_several_at_once_work_as_with_any_tool(server: MCPTools) -> None:
    calls = [
        OpenAIToolCall(id=str(n), function=LLMFunctionCall(name="add", arguments={"a": n, "b": n})) for n in (1, 2)
    ]

    doc = agent_with(server).agent_response(from_llm(oai_tool_calls=calls))

    assert doc is not None
    assert doc.oai_tool_id2result == {"1": "2", "2": "4"}


def test_optional_arguments_are_left_out_and_names_that_tools_need_are_changed_back(server: MCPTools) -> None:
    assert answer(server, '{"request": "describe", "id_": "7"}').content == "7  None None"
    full = '{"request": "describe", "id_": "7", "name": "Tom", "kind": "cat", "tags": ["old"]}'
    assert answer(server, full).content == "7 Tom cat ['old']"


def test_an_argument_may_have_the_name_of_a_method() -> None:
    made = MCPServer("calls")

    @made.tool()
    def call(call_tool: str, arguments: list[int]) -> str:
        return f"{call_tool} {arguments}"

    with MCPTools(made) as server:
        assert answer(server, '{"request": "call", "call_tool": "add", "arguments": [1, 2]}').content == "add [1, 2]"


def test_bad_arguments_are_explained_before_the_server_is_asked(server: MCPTools) -> None:
    text = answer(server, '{"request": "describe", "id_": "7", "kind": "cow"}').content

    assert "error in your use of the tool `describe`" in text
    assert "'cat' or 'dog'" in text


def test_structured_content_is_kept_as_a_value(server: MCPTools) -> None:
    doc = answer(server, '{"request": "move", "point": {"x": 1}, "by": 2}')

    assert doc.content_any == {"x": 3, "y": 0}
    assert '"x": 3' in doc.content


def test_errors_and_what_takes_too_long_are_texts_for_the_model() -> None:
    with MCPTools(make_server(), timeout=0.05) as server:
        failed = answer(server, '{"request": "fail", "reason": "no paper"}').content
        refused = answer(server, '{"request": "move", "point": {"x": "left"}}').content
        slow = answer(server, '{"request": "sleep", "seconds": 60}').content

    assert failed == "ERROR: the tool `fail` failed: no paper"
    assert refused.startswith("ERROR: the tool `move` failed:")
    assert slow == "ERROR: the tool `sleep` failed: no answer within 0.05 s; whether it was carried out is not known"


@pytest.mark.parametrize("setting", ["include", "exclude"])
def test_names_are_no_single_text(setting: str) -> None:
    given: dict[str, Any] = {setting: "add"}
    with pytest.raises(ConfigurationError, match=rf"{setting} is the text 'add'; expected names, such as \['add'\]"):
        MCPTools(make_server(), **given)


def test_images_and_data_are_files_and_the_text_says_so(server: MCPTools) -> None:
    painted = answer(server, '{"request": "picture"}')
    attached = answer(server, '{"request": "attach"}')

    assert painted.content == "Here it is.\n[image attached: image/png, 1 kB]"
    assert painted.files == [{"type": "image", "mime_type": "image/png", "data": "iVBORw=="}]
    assert attached.content == "a note\n[resource attached: x/y, 1 kB]\n[page: https://example.org/]"
    assert attached.files == [{"type": "resource", "mime_type": "x/y", "data": "AAAA", "uri": "mem://data"}]
    assert answer(server, '{"request": "nothing"}').content == "(The tool returned nothing.)"


def test_tools_may_be_chosen_and_prefixed() -> None:
    with MCPTools(make_server(), include=["add", "move"], exclude=["move"], prefix="calc_") as server:
        (tool,) = server.tools()
        doc = answer(server, '{"request": "calc_add", "a": 1}')

    assert (tool.name(), tool.__name__) == ("calc_add", "CalcAdd")
    assert doc.content == "3"


def named(*names: str) -> MCPServer:
    server = MCPServer("names", log_level="CRITICAL")
    for name in names:
        server.tool(name=name)(lambda: "x")
    return server


@pytest.mark.parametrize(
    ("server", "settings", "complaint"),
    [
        (named("a"), {"include": ["b", "a"]}, "has no tool b; it has a"),
        (
            named("a.b", "a_b"),
            {},
            "'a_b' of the MCP server .* would be called 'a_b', like another one; give .* a prefix",
        ),
        (named("done_tool"), {}, "'done_tool' .*, like another one"),
        (named("a" * 60), {"prefix": "long_"}, "names have at most 64"),
    ],
)
def test_names_that_clash_or_are_not_there_are_refused(server: MCPServer, settings: Any, complaint: str) -> None:
    with MCPTools(server, **settings) as tools, pytest.raises(ConfigurationError, match=complaint):
        tools.tools()


@pytest.mark.parametrize(
    ("server", "settings", "complaint"),
    [
        ("", {}, "command of an MCP server is empty"),
        ("python x.py", {"headers": {"a": "b"}}, "headers are for the URL"),
        ("http://localhost/mcp", {"env": {"a": "b"}}, "env and cwd are for the command"),
    ],
)
def test_settings_that_do_not_fit_the_server_are_refused(server: str, settings: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        MCPTools(server, **settings)


@pytest.mark.parametrize("server", ["no-such-program --serve", "http://127.0.0.1:9/mcp?key=secret"])
def test_a_server_that_is_not_there_is_named_with_the_cause(server: str) -> None:
    with pytest.raises(ToolServerUnavailableError, match="cannot be reached") as raised:
        MCPTools(server).tools()

    assert "secret" not in str(raised.value)


def test_what_is_no_server_is_given_up_on() -> None:
    with pytest.raises(ToolServerUnavailableError, match=r"the MCP server sleep did not answer within 0.1 s"):
        MCPTools("sleep 60", connect_timeout=0.1).tools()


def test_an_agents_method_of_the_same_name_does_not_handle_a_servers_tool() -> None:
    class Bot(ChatAgent):
        def add(self, tool: Any) -> str:
            raise AssertionError("the server chose this name, not the application")

    with MCPTools(make_server()) as server:
        agent = Bot()
        agent.enable_message(server.tools())
        doc = agent.agent_response(from_llm('{"request": "add", "a": 1}'))

    assert doc is not None
    assert doc.content == "3"


def test_threads_and_loops_share_one_connection(server: MCPTools) -> None:
    agent, seen = agent_with(server), []

    async def several() -> list[ChatDocument | None]:
        message = from_llm('{"request": "sleep", "seconds": 0.05}')
        return list(await asyncio.gather(*(agent.agent_response_async(message) for _ in range(10))))

    threads = [threading.Thread(target=lambda: seen.extend(asyncio.run(several()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [doc.content for doc in seen if doc] == ["awake"] * 30
    assert len(server._connections) == 1


def test_a_closed_connection_opens_again() -> None:
    server = MCPTools(make_server())
    agent = agent_with(server)

    server.close()
    first = agent.agent_response(from_llm('{"request": "add", "a": 1}'))
    server.close()
    server.close()

    assert first is not None
    assert first.content == "3"


def test_an_idle_connection_is_closed_and_opens_again() -> None:
    server = MCPTools(make_server(), idle=0.0)
    agent = agent_with(server)
    session = next(iter(server._connections.values()))._session
    assert session is not None

    async def until_closed() -> None:
        await asyncio.wait_for(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(ended(), loop)), 10)

    async def ended() -> None:
        await asyncio.wait([session._keeper])

    from turnwise.base.background_loop import background_loop

    loop = background_loop()
    asyncio.run(until_closed())
    doc = agent.agent_response(from_llm('{"request": "add", "a": 1}'))
    server.close()

    assert doc is not None
    assert doc.content == "3"


def test_tools_can_be_listed_and_closed_in_an_event_loop() -> None:
    async def listed() -> int:
        async with MCPTools(make_server(), include=["add"]) as server:
            return len(await server.tools_async())

    assert asyncio.run(listed()) == 1


def test_it_crosses_processes_by_its_name(server: MCPTools) -> None:
    classes = {tool.name(): tool for tool in server.tools()}
    sent = classes["describe"].model_validate({"id_": "1", "tags": ["a"]})

    received = decode_tool(encode_tool(sent), classes)

    assert received == sent
    assert received.arguments() == {"id": "1", "tags": ["a"]}


def test_a_task_uses_it_like_any_tool(server: MCPTools) -> None:
    replies = {"2 and 3": '{"request": "add", "a": 2, "b": 3}', "5": "DONE It is 5."}

    result = Task(agent_with(server, llm=MockLMConfig(response_dict=replies)), interactive=False).run("2 and 3")

    assert result is not None
    assert result.content == "It is 5."
