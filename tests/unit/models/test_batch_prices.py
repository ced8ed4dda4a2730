"""Prices of calls in batches of a provider."""

from __future__ import annotations

from decimal import Decimal

from turnwise.models.tokens.price_list import price
from turnwise.models.tokens.usage import LLMTokenUsage

USED = LLMTokenUsage(prompt_tokens=1_000_000, cached_tokens=100_000, completion_tokens=1_000_000)
OPENAI = "https://api.openai.com/v1"


def test_the_list_s_price_for_batches_is_taken() -> None:
    usual, batched = (price("gpt-4o", USED, base_url=OPENAI, batched=each) for each in (False, True))
    # The list gives no discount for cached tokens in batches of this model, so it is a little more than half.
    assert usual is not None and batched is not None
    assert usual / 2 < batched < usual


def test_half_of_the_usual_price_is_taken_where_the_list_has_none_for_batches() -> None:
    groq = "https://api.groq.com/openai/v1"
    usual, batched = (price("llama-3.3-70b-versatile", USED, base_url=groq, batched=each) for each in (False, True))
    assert usual is not None and batched == usual / 2


def test_half_of_a_price_of_one_s_own_is_taken() -> None:
    own = {"house": (Decimal(2), Decimal(6))}
    assert price("house", USED, overrides=own, batched=True) == Decimal(4)


def test_a_price_that_is_not_known_stays_unknown() -> None:
    assert price("house", USED, base_url="http://127.0.0.1:9/v1", batched=True) is None
