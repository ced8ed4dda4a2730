"""Servers that answer, or list, what the MCP protocol does not allow."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from tests.support import raw_mcp_server
from tests.support.mcp_calls import answer

from turnwise import (
    MCPTools,
)
from turnwise.errors import ToolServerUnavailableError
from turnwise.messages.wire import decode_document, encode_document


def raw(result: dict[str, Any], tool: dict[str, Any] | None = None, noise: str = "", **settings: Any) -> MCPTools:
    """Tools of a server that lists `look` with what is in `tool`, and answers each call with just that result."""
    listed = {"name": "look", "inputSchema": {"type": "object", "properties": {}}} | (tool or {})
    command = [sys.executable, raw_mcp_server.__file__, json.dumps(listed), json.dumps(result), noise]
    return MCPTools(command, **settings)


TEXT = {"content": [{"type": "text", "text": "seen"}]}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("result", "tool", "said"),
    [
        (TEXT, {"outputSchema": NUMBER}, "has an output schema but did not return structured content"),
        (TEXT | {"structuredContent": {"n": "x"}}, {"outputSchema": NUMBER}, "Invalid structured content returned"),
        (
            TEXT | {"structuredContent": {"n": 1}},
            {"outputSchema": NUMBER | {"pattern": 1}},
            "Invalid schema for tool look",
        ),
        (TEXT | {"isError": None}, {}, "isError: Input should be a valid boolean"),
        ({"content": None}, {}, "content: Input should be a valid list"),
        ({"content": [{"type": "smell"}]}, {}, "content.0"),
    ],
)
def test_an_answer_that_the_protocol_forbids_is_a_text_for_the_model(
    result: dict[str, Any], tool: dict[str, Any], said: str
) -> None:
    with raw(result, tool) as server:
        found = answer(server, '{"request": "look"}').content
    assert found.startswith("ERROR: the tool `look` failed: the server has answered, but not as the protocol or ")
    assert said in found


def test_a_text_that_was_cut_within_an_emoji_is_read() -> None:
    cut = "\N{HOUSE BUILDING} and half of \ud83c"
    with raw({"content": [{"type": "text", "text": cut}]}, {"description": cut}, timeout=30) as server:
        [tool] = server.tools()
        assert tool.default_value("purpose") == "\N{HOUSE BUILDING} and half of ?"
        assert answer(server, '{"request": "look"}').content == "\N{HOUSE BUILDING} and half of ?"


def test_a_line_that_is_not_utf_8_is_passed_over() -> None:
    with raw(TEXT, noise="caf\u00e9", timeout=5) as server:
        assert [answer(server, '{"request": "look"}').content for _ in range(2)] == ["seen", "seen"]


@pytest.mark.parametrize("schema", [None, {"type": "object", "properties": []}])
def test_a_server_that_lists_what_is_no_tool_is_named_with_the_cause(schema: Any) -> None:
    with (
        raw(TEXT, {"inputSchema": schema}) as server,
        pytest.raises(ToolServerUnavailableError, match=r"lists what is no tool of the protocol: .*inputSchema"),
    ):
        server.tools()


def test_a_null_in_a_schema_is_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": None}
    with raw(TEXT, {"inputSchema": schema}) as server:
        assert answer(server, '{"request": "look"}').content == "seen"


@pytest.mark.parametrize("data", ["abc", "!!!", "\u00e9\u00e9\u00e9\u00e9"])
def test_an_image_that_is_not_base64_is_no_attachment(data: str) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": data}
    with raw({"content": [image]}, forward_images=True) as server:
        assert answer(server, '{"request": "look"}').files == [
            {"type": "image", "mime_type": "image/png", "data": data}
        ]


def test_base64_may_be_broken_into_lines() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "iVBO\r\nRw==\n"}
    with raw({"content": [image]}, forward_images=True) as server:
        (file,) = answer(server, '{"request": "look"}').files
        assert file.content == b"\x89PNG"


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"ratio": float("inf")}, "holds inf, which JSON cannot express"),
        ({"ratio": float("nan")}, "holds nan, which JSON cannot express"),
        ({"ratio": 10**400}, "holds a number of more than 308 digits"),
        ({"rows": _nested(90)}, "is nested deeper than 64 levels"),
    ],
)
@pytest.mark.parametrize("content", [TEXT["content"], []])
def test_structured_content_that_cannot_be_stored_is_left_out_and_the_text_says_so(
    value: dict[str, Any], why: str, content: list[Any]
) -> None:
    with raw({"content": content, "structuredContent": value}) as server:
        found = answer(server, '{"request": "look"}')
    assert f"(The structured content is left out: it {why}" in found.content
    assert found.content.startswith("seen\n" if content else "{")
    assert found.content_any == found.content
    assert decode_document(encode_document(found), {}).content_any == found.content


def test_structured_content_as_deep_as_any_value_is_kept() -> None:
    with raw(TEXT | {"structuredContent": {"rows": _nested(63)}}) as server:
        found = answer(server, '{"request": "look"}')
    assert (found.content, found.content_any) == ("seen", {"rows": _nested(63)})


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("http://user:s3cret@127.0.0.1:1/mcp?key=s3cret#s3cret", "http://127.0.0.1:1/mcp"),
        ("http://us@er:s3cret@127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://127.0.0.1:1/a@b", "http://127.0.0.1:1/a@b"),
        (["/nonexistent/prog", "--token", "s3cret"], "/nonexistent/prog"),
        ("/nonexistent/prog --token s3cret", "/nonexistent/prog"),
    ],
)
def test_an_address_is_told_without_credentials(server: Any, shown: str) -> None:
    with MCPTools(server) as tools, pytest.raises(ToolServerUnavailableError) as raised:
        tools.tools()

    assert f"the MCP server {shown} cannot be reached" in str(raised.value)
    assert "s3cret" not in str(raised.value)
