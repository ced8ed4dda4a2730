"""Conversations are equal where models were asked the same, and differ in words where they were not."""

from __future__ import annotations

from typing import Any

from .conversation import differences


def test_ids_and_what_means_the_same_make_no_difference() -> None:
    one = _request(_calls("call_7", '{"request": "add", "n": 1}', content=""), tool_choice="auto", temperature=0.2)
    other = _request(_calls("call_9", '{"n": 1}', content=None), temperature=None)

    assert differences([one], [other]) == []


def test_another_text_is_shown_from_where_it_differs() -> None:
    found = differences([_request({"role": "user", "content": "two"})], [_request({"role": "user", "content": "ten"})])

    assert found == ["request 1: messages[1].content: 'two' against 'ten' (from 0)"]


def test_of_a_system_message_counts_what_the_program_says() -> None:
    one = _request(system="\n  Be brief.\n\n=== ALL TOOLS ===\nuse them so")
    other = _request(system="Be brief.\n\n=== TOOLS IN JSON ===\nuse them otherwise")

    assert differences([one], [other]) == []
    assert differences([one], [_request(system="Be long.")]) != []


def test_a_request_more_is_a_difference() -> None:
    assert differences([_request()], [_request(), _request()]) == ["1 requests against 2"]


def test_a_batch_is_compared_in_any_order() -> None:
    first, second = _request(system="a"), _request(system="b")

    assert differences([first, second], [second, first], in_order=False) == []
    assert differences([first, second], [second, first]) != []


def test_the_description_of_a_tool_of_the_program_counts_and_that_of_a_built_in_one_does_not() -> None:
    assert differences([_request(tools=[_tool("add", "x")])], [_request(tools=[_tool("add", "y")])]) != []
    assert differences([_request(tools=[_tool("done_tool", "x")])], [_request(tools=[_tool("done_tool", "y")])]) == []


def test_a_default_model_is_each_sides_own() -> None:
    one, other = _request() | {"model": "a"}, _request() | {"model": "b"}

    assert differences([one], [other]) == ["request 1: model: 'a' against 'b' (from 0)"]
    assert differences([one], [other], model=False) == []


def _request(*messages: dict[str, Any], system: str = "Add.", **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "system", "content": system}, *messages], **more}


def _calls(call_id: str, arguments: str, content: str | None) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "add", "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def _tool(name: str, description: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {}}}
