"""The results of a batch: a list that knows its cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from turnwise.messages.stop_reason import StopReason
from turnwise.models.tokens.usage import LLMTokenUsage

Outcome = Literal["done", "failed", "limit", "not_started", "cancelled"]


class BatchResults(list[Any]):
    """The results of a batch, in the order of its items: a list like any other, which also says what became of each.

    - `usage`: what all items have used together, those included that failed or were cancelled; its `cost` is in USD,
      and None if that of one call is not known.
    - `outcomes`: of each item "done", "failed" (it raised), "limit" (the batch's budget refused a call of it),
      "not_started" (the budget was used up, or the first result had ended the batch) or "cancelled".
    - `stop_reason`: the limit of the batch that kept items from being done; None if none did.
    """

    def __init__(
        self,
        results: Iterable[Any] = (),
        *,
        usage: LLMTokenUsage | None = None,
        outcomes: Iterable[Outcome] = (),
        stop_reason: StopReason | None = None,
    ) -> None:
        super().__init__(results)
        self.usage = usage if usage is not None else LLMTokenUsage()
        self.outcomes = list(outcomes)
        self.stop_reason = stop_reason
