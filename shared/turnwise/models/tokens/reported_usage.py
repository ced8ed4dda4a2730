"""The check of what a provider says that a call used, before anything is charged for it.

A count that cannot be true is not charged: the call counts as much as it could have used, which is what was reserved
for it, and its usage says why (`LLMTokenUsage.doubt`).
"""

from __future__ import annotations

from typing import Any

from turnwise.models.tokens.usage import LLMTokenUsage

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
        completion_tokens=int(told["completion_tokens"] or 0),
        cost=None,
        calls=1,
    )


def doubt_about(usage: LLMTokenUsage) -> str:
    """Return why a usage cannot be true, "" if it can; for models that make their own."""
    if usage.doubt:
        return usage.doubt
    counts, cost = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.calls), usage.cost
    is_money = cost is None or (cost.is_finite() and cost >= 0)
    if is_money and all(map(_is_plain, counts)):
        return ""  # as nearly all are
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "calls")
    doubts = [_doubt_of(name, count) for name, count in zip(names, counts, strict=True)]
    if not is_money:
        doubts.append(f"cost is {cost}, not an amount of money")
    return "; ".join(filter(None, doubts))


def _is_plain(count: Any) -> bool:
    return type(count) is int and 0 <= count <= MOST_TOKENS


def _doubt_of(name: str, count: Any) -> str:
    if count is None:
        return ""
    whole = isinstance(count, int) and not isinstance(count, bool)
    if isinstance(count, float) and count.is_integer():
        whole = True
    if whole and 0 <= count <= MOST_TOKENS:
        return ""
    return f"{name} is {str(count)[:40]}, not a number of 0 to {MOST_TOKENS}"
