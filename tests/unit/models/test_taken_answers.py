"""Answers and usages of models as they are taken in: those without a fault as they are, at no cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from turnwise.models import answer_check
from turnwise.models.answer_check import taken
from turnwise.models.base import LLMFunctionCall, LLMResponse, OpenAIToolCall
from turnwise.models.tokens import usage
from turnwise.models.tokens.usage import MOST_TOKENS, LLMTokenUsage, doubt_about


def _never(*_: Any) -> Any:
    raise AssertionError("what has no fault was looked at twice")


@pytest.mark.parametrize(
    "response",
    [LLMResponse(message="DONE"), LLMResponse(), LLMResponse(message="Größe", reasoning="é", oai_tool_calls=[])],
)
def test_an_answer_without_calls_is_taken_as_it_is(response: LLMResponse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_check, "as_unicode", _never)
    assert taken(response) is response


@pytest.mark.parametrize("field", ["message", "reasoning", "model"])
def test_half_of_a_surrogate_pair_is_replaced_in_each_text(field: str) -> None:
    assert getattr(taken(LLMResponse().model_copy(update={field: "a\ud800"})), field) == "a?"


def test_calls_are_looked_at_even_where_the_texts_are_plain() -> None:
    call = LLMFunctionCall(name="f", arguments={"a": float("nan")})
    for answer in (
        LLMResponse(message="DONE", oai_tool_calls=[OpenAIToolCall(id="1", function=call)]),
        LLMResponse(message="DONE", function_call=call),
    ):
        made = taken(answer)
        function = made.function_call or (made.oai_tool_calls or [OpenAIToolCall()])[0].function
        assert function is not None
        assert (function.arguments, function.raw) == (None, '{"a": NaN}')


@pytest.mark.parametrize("cost", [None, Decimal(0), Decimal("0.01")])
def test_a_usage_without_a_fault_is_not_doubted(cost: Decimal | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_doubt_of", _never)
    assert doubt_about(LLMTokenUsage(prompt_tokens=MOST_TOKENS, completion_tokens=0, calls=1, cost=cost)) == ""


@pytest.mark.parametrize(
    ("field", "value", "doubt"),
    [
        ("prompt_tokens", -1, "prompt_tokens is -1"),
        ("cached_tokens", MOST_TOKENS + 1, "cached_tokens is"),
        ("completion_tokens", True, "completion_tokens is True"),
        ("calls", 1.5, "calls is 1.5"),
        ("calls", "\ud800", r"calls is '\ud800'"),
        ("calls", 1.0, ""),
        ("prompt_tokens", None, ""),
        ("cost", Decimal(-1), "cost is -1"),
        ("cost", Decimal("NaN"), "cost is NaN"),
        ("cost", Decimal("Infinity"), "cost is Infinity"),
        ("doubt", "told before", "told before"),
    ],
)
def test_each_number_of_a_usage_is_looked_at(field: str, value: Any, doubt: str) -> None:
    found = doubt_about(LLMTokenUsage.model_construct(**{field: value}))
    assert found.startswith(doubt)
    assert bool(found) == bool(doubt)
