"""The ends of streamed answers, and pieces that only some servers send."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise.errors import ModelUnavailableError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.stream import StreamAssembler
from turnwise.models.openai.wire import parse_completion

TEXT = {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}
CALL = {"choices": [{"delta": {"tool_calls": [{"id": "c", "function": {"name": "look_up", "arguments": "{}"}}]}}]}
USAGE: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def fed(*chunks: Any) -> StreamAssembler:
    assembler = StreamAssembler()
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler


@pytest.mark.parametrize("said", [TEXT, CALL])
@pytest.mark.parametrize("after", [[], [{"choices": []}], [USAGE]])
def test_the_usage_at_the_end_is_an_end(said: Any, after: list[Any]) -> None:
    response = parse_completion(fed(said, USAGE, *after).completion(), OpenAIGPTConfig())
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (10, 2)


@pytest.mark.parametrize(
    "chunks",
    [
        [TEXT],
        [TEXT, {"choices": []}],
        [USAGE],
        [USAGE, TEXT],
        [TEXT, USAGE, TEXT],
        [TEXT | {"usage": USAGE["usage"]}],
        [{"choices": [{"index": 1, "delta": {"content": "Hello"}}]}, USAGE],
    ],
)
def test_a_stream_without_an_end_broke_off(chunks: list[Any]) -> None:
    with pytest.raises(ModelUnavailableError, match="broke off"):
        fed(*chunks).completion()


@pytest.mark.parametrize("last", [{"completion_tokens": 3}, {"prompt_tokens": None, "completion_tokens": 3}])
@pytest.mark.parametrize("first", [{"prompt_tokens": 1_000}, {"prompt_tokens": 1_000, "completion_tokens": 0}])
def test_a_usage_in_two_parts_is_one(first: dict[str, Any], last: dict[str, Any]) -> None:
    usage = parse_completion(fed(TEXT | {"usage": first}, END | {"usage": last}).completion(), OpenAIGPTConfig()).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (1_000, 3)


def test_a_message_in_place_of_deltas_is_the_answer() -> None:
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
    assembler = StreamAssembler()
    assert [text for text, _ in assembler.feed(whole)] == ["Hello"]
    assert parse_completion(assembler.completion(), OpenAIGPTConfig()).message == "Hello"


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (["a\ud83d", "\ude00b"], ["a", "\U0001f600b"]),
        (["\ud83d", "\ude00\ud83d", "\ude01"], ["\U0001f600", "\U0001f601"]),
        (["\ud83d", "b"], ["\ud83db"]),
        (["\ude00", "b"], ["\ude00", "b"]),
        (["a", "\ud83d"], ["a"]),
    ],
)
def test_a_character_in_two_pieces_is_one(pieces: list[str], heard: list[str]) -> None:
    assembler = StreamAssembler()
    chunks = [{"choices": [{"delta": {"content": text}}]} for text in pieces]
    assert [text for chunk in chunks for text, _ in assembler.feed(chunk)] == heard
    assembler.feed(END)
    rest = pieces[-1] if pieces[-1] == "\ud83d" else ""
    assert assembler.completion()["choices"][0]["message"] == {"content": "".join(heard) + rest}


def test_a_message_after_deltas_says_nothing_new() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    assert parse_completion(fed(TEXT, whole).completion(), OpenAIGPTConfig()).message == "Hello"


def test_a_second_message_that_is_another_makes_no_answer_of_the_first() -> None:
    first, second = ({"choices": [{"message": {"content": text}, "finish_reason": None}]} for text in ("Hel", "lo"))
    with pytest.raises(ModelUnavailableError, match="not a chunk"):
        fed(first, second)


@pytest.mark.parametrize("id", [0, 7, 10**30])
def test_the_id_of_a_call_may_be_a_number(id: int) -> None:
    call = {"id": id, "function": {"name": "look_up", "arguments": "{}"}}
    whole = {"choices": [{"message": {"tool_calls": [call]}}]}
    streamed = fed({"choices": [{"delta": {"tool_calls": [call]}}]}, END).completion()
    for body in (whole, streamed):
        calls = parse_completion(body, OpenAIGPTConfig()).oai_tool_calls or ()
        assert [call.id for call in calls] == [str(id)]
