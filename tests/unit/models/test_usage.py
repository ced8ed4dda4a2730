"""Usage as providers report it, its sums and differences, and the parameters of a call as a dict."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from turnwise import LLMTokenUsage, OpenAICallParams, OpenAIGPTConfig
from turnwise.models.openai.stream import StreamAssembler
from turnwise.models.openai.wire import parse_completion
from turnwise.models.tokens.usage import MOST_TOKENS, reported

_REASONED = {
    "prompt_tokens": 32,
    "completion_tokens": 9,
    "total_tokens": 3041,
    "completion_tokens_details": {"reasoning_tokens": 3000},
}


def test_the_usage_since_an_earlier_one_is_their_difference() -> None:
    earlier = LLMTokenUsage(prompt_tokens=5, cached_tokens=1, completion_tokens=2, cost=Decimal("0.25"), calls=1)
    later = earlier.plus(LLMTokenUsage(prompt_tokens=7, completion_tokens=3, cost=Decimal("0.50"), calls=1))

    assert later.minus(earlier) == LLMTokenUsage(prompt_tokens=7, completion_tokens=3, cost=Decimal("0.50"), calls=1)
    assert later.minus(LLMTokenUsage(cost=None)).cost is None


def test_reasoning_that_only_the_total_has_is_part_of_the_completion() -> None:
    assert reported(_REASONED) == LLMTokenUsage(prompt_tokens=32, completion_tokens=3009, cost=None, calls=1)


def test_the_last_chunk_of_a_stream_tells_of_such_reasoning_too() -> None:
    assembler = StreamAssembler()
    assembler.feed({"choices": [{"index": 0, "delta": {"content": "DONE"}, "finish_reason": "stop"}]})
    assembler.feed({"choices": [], "usage": _REASONED})

    response = parse_completion(assembler.completion(), OpenAIGPTConfig())

    assert response.usage.completion_tokens == 3009


@pytest.mark.parametrize("total", [41, 40, 0, None, -1, 41.5, True, "3041", MOST_TOKENS + 1])
def test_a_total_that_tells_of_no_more_or_cannot_be_true_changes_nothing(total: Any) -> None:
    told = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": total}

    assert reported(told) == LLMTokenUsage(prompt_tokens=32, completion_tokens=9, cost=None, calls=1)


def test_a_total_without_the_prompt_is_not_taken_for_the_completion() -> None:
    assert reported({"total_tokens": 5}) == LLMTokenUsage(cost=None, calls=1)


def test_a_count_that_cannot_be_true_is_doubted_whatever_the_total_is() -> None:
    found = reported(_REASONED | {"completion_tokens": -1})

    assert (found.completion_tokens, found.doubt[:23]) == (0, "completion_tokens is -1")


def test_parameters_that_are_set_are_a_dict() -> None:
    given = OpenAICallParams(temperature=0.0, stop=["END"], extra_body={"top_k": 5})

    assert given.to_dict_exclude_none() == {"temperature": 0.0, "stop": ["END"], "extra_body": {"top_k": 5}}
