"""The use of models by calls."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict


class LLMTokenUsage(BaseModel):
    """Tokens and money of one or more calls of models.

    - `prompt_tokens`: what was sent, `cached_tokens` among them: those that the provider had seen before.
    - `completion_tokens`: what was answered, reasoning included.
    - `cost`: in USD; None when a call had no known price (never 0).
    - `calls`: how many calls these are.
    - `doubt`: why the provider's own count was not taken, "" where it was; the most that the call could use was.
    """

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    calls: int = 0
    doubt: str = ""

    @property
    def total_tokens(self) -> int:
        """Return what counts toward a limit of tokens: prompt, cached or not, and completion."""
        return self.prompt_tokens + self.completion_tokens

    def __str__(self) -> str:
        cost = "unknown" if self.cost is None else f"{self.cost:f}"
        tokens = f"prompt {self.prompt_tokens}, cached {self.cached_tokens}, completion {self.completion_tokens}"
        return f"Tokens = ({tokens}), Cost={cost}, Calls={self.calls}"

    def plus(self, other: LLMTokenUsage) -> LLMTokenUsage:
        """The sum; its cost is unknown if either is."""
        unknown = self.cost is None or other.cost is None
        return LLMTokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if unknown else (self.cost or Decimal(0)) + (other.cost or Decimal(0)),
            calls=self.calls + other.calls,
            doubt=self.doubt or other.doubt,
        )

    def minus(self, earlier: LLMTokenUsage) -> LLMTokenUsage:
        """Return what was used since `earlier`; its cost is unknown if either is."""
        unknown = self.cost is None or earlier.cost is None
        return LLMTokenUsage(
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            cached_tokens=self.cached_tokens - earlier.cached_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            cost=None if unknown else (self.cost or Decimal(0)) - (earlier.cost or Decimal(0)),
            calls=self.calls - earlier.calls,
        )
