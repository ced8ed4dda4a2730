"""The cost of calls."""

from __future__ import annotations

from decimal import Decimal

import pytest

from turnwise.models.tokens.price_list import price
from turnwise.models.tokens.usage import LLMTokenUsage

USAGE = LLMTokenUsage(prompt_tokens=1_000_000, completion_tokens=1_000_000)
OPENAI = "https://api.openai.com/v1"


def test_a_listed_model_has_a_decimal_price() -> None:
    cost = price("gpt-4.1-mini", USAGE, base_url=OPENAI)
    assert isinstance(cost, Decimal)
    assert cost > 0


def test_cached_tokens_are_cheaper() -> None:
    full, cached = (
        price("gpt-4.1-mini", USAGE.model_copy(update={"cached_tokens": count}), base_url=OPENAI)
        for count in (0, 500_000)
    )
    assert full is not None
    assert cached is not None
    assert cached < full


@pytest.mark.parametrize(
    ("model", "base_url"),
    [("no-such-model", OPENAI), ("gpt-4.1-mini", "http://127.0.0.1:8090/v1"), ("gpt-4.1-mini", None)],
)
def test_what_is_not_listed_has_no_price_rather_than_none_to_pay(model: str, base_url: str | None) -> None:
    assert price(model, USAGE, base_url=base_url) is None


def test_a_named_provider_prices_a_proxy() -> None:
    direct = price("gpt-4.1-mini", USAGE, base_url=OPENAI)
    assert price("gpt-4.1-mini", USAGE, provider="openai", base_url="http://proxy:4000") == direct


def test_own_prices_come_first() -> None:
    own = {"gpt-4.1-mini": (Decimal("0.5"), Decimal("1.25"))}
    assert price("gpt-4.1-mini", USAGE, base_url=OPENAI, overrides=own) == Decimal("1.75")
