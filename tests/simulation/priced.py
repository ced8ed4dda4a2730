"""A scripted model with prices, which keeps to the length that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from turnwise import LLMTokenUsage
from turnwise.models.base import LLMMessage, LLMResponse
from turnwise.testing import MockLM, MockLMConfig

PROMPT, COMPLETION = Decimal("0.001"), Decimal("0.002")


class PricedLM(MockLM):
    """Counts a word of an answer as a token, and four characters of a prompt."""

    def answer(self, messages: Sequence[LLMMessage], max_tokens: int, *args: Any, **options: Any) -> LLMResponse:
        response = super().answer(messages, max_tokens, *args, **options)
        words = (response.message or "").split(" ")[:max_tokens]
        prompt = sum(len(message.content) for message in messages) // 4
        usage = LLMTokenUsage(prompt_tokens=prompt, completion_tokens=len(words), calls=1)
        usage = usage.model_copy(update={"cost": self.price(usage)})
        return response.model_copy(update={"message": " ".join(words), "usage": usage})

    def price(self, usage: LLMTokenUsage) -> Decimal:
        return PROMPT * usage.prompt_tokens + COMPLETION * usage.completion_tokens

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        usage = LLMTokenUsage(prompt_tokens=prompt_tokens, completion_tokens=max_tokens, calls=1)
        return usage.model_copy(update={"cost": self.price(usage)})


class PricedLMConfig(MockLMConfig):
    """A `MockLMConfig` whose model costs money."""

    max_output_tokens: int = 12
    min_output_tokens: int = 8

    def client(self) -> PricedLM:
        """The model."""
        return PricedLM(self)
