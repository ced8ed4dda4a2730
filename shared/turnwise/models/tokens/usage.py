"""The use of models by calls: as it is counted, and as providers report it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import ConfigDict

from turnwise.models.shared_fields import SharedFieldsSet


class LLMTokenUsage(SharedFieldsSet):
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
        if self is NO_USAGE:
            return other
        mine, more = self.cost, other.cost
        return LLMTokenUsage.made(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            # Most calls of a local model cost nothing, and there is no sum to make.
            cost=None if mine is None or more is None else mine + more if more else mine,
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


# Begins most sums.
NO_USAGE = LLMTokenUsage()
# Tokens of one call, ten times the longest context that any model has. A higher count is a fault of the provider's.
MOST_TOKENS = 100_000_000


def reported(usage: object) -> LLMTokenUsage:
    """The `usage` object of a response as one call of unknown cost; of one that cannot be true, only the doubt."""
    given = usage if isinstance(usage, dict) else {}
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    told = {"prompt_tokens": given.get("prompt_tokens"), "completion_tokens": given.get("completion_tokens")}
    doubts = [_doubt_of(name, count) for name, count in [*told.items(), ("cached_tokens", cached)]]
    if usage is not None and not isinstance(usage, dict):
        doubts.append(f"usage is a {type(usage).__name__}, not an object")
    if any(doubts):
        return LLMTokenUsage(cost=None, calls=1, doubt="; ".join(filter(None, doubts)))
    prompt = int(told["prompt_tokens"] or 0)
    return LLMTokenUsage(
        prompt_tokens=prompt,
        cached_tokens=min(int(cached or 0), prompt),
        completion_tokens=max(int(told["completion_tokens"] or 0), _beside(prompt, given.get("total_tokens"))),
        cost=None,
        calls=1,
    )


def _beside(prompt: int, total: Any) -> int:
    """Tokens of a reported total that are not the prompt's; 0 where the prompt or the total is not told, or untrue.

    xAI and Gemini have the reasoning in the total alone, and charge it like the completion.
    """
    if not prompt or not total or _doubt_of("total_tokens", total):
        return 0
    return int(total) - prompt


def doubt_about(usage: LLMTokenUsage) -> str:
    """Return why a usage cannot be true, "" if it can; for models that make their own."""
    if usage.doubt:
        return usage.doubt
    counts, cost = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.calls), usage.cost
    is_money = cost is None or (cost.is_finite() and cost >= 0)
    prompt, cached, completion, calls = map(type, counts)
    whole = prompt is cached is completion is calls is int
    if is_money and whole and min(counts) >= 0 and max(counts) <= MOST_TOKENS:
        return ""  # as nearly all are
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "calls")
    doubts = [_doubt_of(name, count) for name, count in zip(names, counts, strict=True)]
    if not is_money:
        doubts.append(f"cost is {cost}, not an amount of money")
    return "; ".join(filter(None, doubts))


def _doubt_of(name: str, count: Any) -> str:
    if count is None:
        return ""
    whole = isinstance(count, int) and not isinstance(count, bool)
    if isinstance(count, float) and count.is_integer():
        whole = True
    if whole and 0 <= count <= MOST_TOKENS:
        return ""
    return f"{name} is {repr(count)[:40]}, not a number of 0 to {MOST_TOKENS}"
