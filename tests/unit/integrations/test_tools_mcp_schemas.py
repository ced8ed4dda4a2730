"""Arguments of MCP tools, as the schemas of their servers allow them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.mcp_calls import answer, echoing

from turnwise.base.tool_json import arguments_of
from turnwise.integrations.mcp.schema import allows_null, type_of
from turnwise.messages.wire import decode_tool, encode_tool


@pytest.mark.parametrize("others", [True, {}, {"type": "string"}])
def test_arguments_that_a_schema_allows_without_listing_them_are_sent(others: Any) -> None:
    with echoing({"properties": {"a-b": {"type": "integer"}}, "additionalProperties": others}) as server:
        doc = answer(server, '{"request": "echo", "a-b": 1, "more": "x"}')

    assert doc.content == '{"a-b": 1, "more": "x"}'


def test_an_argument_that_is_required_and_not_listed_is_told_to_the_model_and_sent() -> None:
    with echoing({"properties": {"a": {"type": "integer"}}, "required": ["b", "a"]}) as server:
        [tool] = server.tools()
        parameters = tool.llm_function_schema().parameters
        doc = answer(server, '{"request": "echo", "a": 1, "b": "x"}')

    assert (parameters["properties"]["b"], parameters["required"]) == ({}, ["a", "b"])
    assert doc.content == '{"a": 1, "b": "x"}'


def test_a_null_that_was_given_is_sent_where_the_schema_allows_it_also_from_another_process() -> None:
    text = {"type": "string"}
    nullable = {"anyOf": [{"$ref": "#/$defs/text"}, {"type": "null"}], "default": "x"}
    schema = {"properties": {"a": nullable, "b": nullable, "c": text}, "$defs": {"text": text}}
    given = {"a": None, "c": None}
    with echoing(schema) as server:
        classes = {tool.name(): tool for tool in server.tools()}
        doc = answer(server, json.dumps({"request": "echo", **given}))

    assert doc.content == '{"a": null}'
    received = decode_tool(encode_tool(classes["echo"].model_validate(given)), classes)
    assert isinstance(received, classes["echo"])
    assert received.arguments() == {"a": None}


@pytest.mark.parametrize("others", [False, True])
def test_a_null_that_an_earlier_version_wrote_for_an_argument_that_was_not_given_is_not_sent(others: bool) -> None:
    limit = {"type": ["integer", "null"], "default": 10}
    schema = {
        "properties": {"b": {"type": "string"}, "limit": limit, "at": limit},
        "required": ["at"],
        "additionalProperties": others,
    }
    given = {"b": "1", "at": None} | ({"more": None} if others else {})
    with echoing(schema) as server:
        classes = {tool.name(): tool for tool in server.tools()}
    written = {"$tool": "echo", "request": "echo", "purpose": "", "id": "", **given, "limit": None}

    earlier = decode_tool(written, classes)
    again = decode_tool(encode_tool(earlier), classes)

    assert isinstance(earlier, classes["echo"]) and isinstance(again, classes["echo"])
    assert earlier.arguments() == again.arguments() == given


def test_a_null_that_was_given_is_written_so_that_an_earlier_version_sees_it_among_the_fields() -> None:
    with echoing({"properties": {"limit": {"type": ["integer", "null"]}}, "additionalProperties": True}) as server:
        [tool] = server.tools()
    written = encode_tool(tool.model_validate({"limit": None}))

    assert written["limit"] is None
    assert written.keys() - {"$fields"} == {"$tool", "request", "purpose", "id", "limit"}
    assert arguments_of(written) == {"limit": None}


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        (True, True),
        (False, False),
        ({}, True),
        ({"description": "any"}, True),
        ({"type": "string"}, False),
        ({"type": ["string", "null"]}, True),
        ({"type": "array", "items": {"type": "null"}}, False),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"enum": ["a", None]}, True),
        ({"type": ["string", "null"], "enum": ["a"]}, False),
        ({"const": None}, True),
        ({"$ref": "#/$defs/X"}, False),
    ],
)
def test_a_schema_tells_if_null_is_allowed(schema: Any, allowed: bool) -> None:
    assert allows_null(schema) is allowed


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, str),
        ({"type": ["string", "null"]}, str | None),
        ({"type": "array", "items": {"type": "integer"}}, list[int]),
        ({"type": "array"}, list[Any]),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, str | list[str]),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/X"}]}, Any),
        ({"type": "object", "properties": {}}, dict[str, Any]),
        ({"$ref": "#/$defs/X"}, Any),
        (True, Any),
        ({}, Any),
    ],
)
def test_types_come_from_the_schema_as_far_as_they_go(schema: Any, expected: Any) -> None:
    assert type_of(schema) == expected
