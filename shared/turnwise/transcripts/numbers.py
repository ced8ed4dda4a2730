"""Numbers as people read them."""

from __future__ import annotations

from turnwise.base.money import dollars
from turnwise.models.tokens.usage import LLMTokenUsage


def seconds(duration: float) -> str:
    """A duration in the unit that suits it."""
    if duration < 100:
        return f"{duration:.2f} s"
    minutes, rest = divmod(round(duration), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def used(usage: LLMTokenUsage | None) -> str:
    """Tokens and cost in few words; "" where there are neither, as with a scripted model."""
    if usage is None or not (usage.total_tokens or usage.cost):
        return ""
    return f"{usage.total_tokens:,} tokens, {dollars(usage.cost)}"
