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
