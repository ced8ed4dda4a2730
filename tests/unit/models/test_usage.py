"""Sums and differences of usage, and the parameters of a call as a dict."""

from __future__ import annotations

from decimal import Decimal

from turnwise import LLMTokenUsage, OpenAICallParams


def test_the_usage_since_an_earlier_one_is_their_difference() -> None:
    earlier = LLMTokenUsage(prompt_tokens=5, cached_tokens=1, completion_tokens=2, cost=Decimal("0.25"), calls=1)
    later = earlier.plus(LLMTokenUsage(prompt_tokens=7, completion_tokens=3, cost=Decimal("0.50"), calls=1))

    assert later.minus(earlier) == LLMTokenUsage(prompt_tokens=7, completion_tokens=3, cost=Decimal("0.50"), calls=1)
    assert later.minus(LLMTokenUsage(cost=None)).cost is None


def test_parameters_that_are_set_are_a_dict() -> None:
    given = OpenAICallParams(temperature=0.0, stop=["END"], extra_body={"top_k": 5})

    assert given.to_dict_exclude_none() == {"temperature": 0.0, "stop": ["END"], "extra_body": {"top_k": 5}}
