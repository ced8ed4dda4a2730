"""The use of models by this process, for programs to show; no rule reads it."""

from __future__ import annotations

import threading
from decimal import Decimal

from turnwise.models.tokens.usage import LLMTokenUsage


class UsageSum:
    """A sum that is added to in place: a model is called in every turn, and looked at seldom."""

    __slots__ = ("cached", "calls", "completion", "cost", "doubt", "prompt")

    def __init__(self) -> None:
        self.prompt = self.cached = self.completion = self.calls = 0
        self.cost: Decimal | None = Decimal(0)
        self.doubt = ""

    def add(self, usage: LLMTokenUsage) -> None:
        self.prompt += usage.prompt_tokens
        self.cached += usage.cached_tokens
        self.completion += usage.completion_tokens
        self.calls += usage.calls
        self.doubt = self.doubt or usage.doubt
        if usage.cost is None or self.cost is None:
            self.cost = None
        elif usage.cost:
            self.cost += usage.cost

    def usage(self) -> LLMTokenUsage:
        return LLMTokenUsage(
            prompt_tokens=self.prompt,
            cached_tokens=self.cached,
            completion_tokens=self.completion,
            cost=self.cost,
            calls=self.calls,
            doubt=self.doubt,
        )


class UsageTotals:
    """Usage by the name of the model; may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_model: dict[str, UsageSum] = {}

    def add(self, model: str, usage: LLMTokenUsage) -> None:
        """Add what a call used."""
        with self._lock:
            count = self._by_model.get(model)
            if count is None:
                count = self._by_model[model] = UsageSum()
            count.add(usage)

    def reset(self, model: str) -> None:
        """Count the model from zero."""
        with self._lock:
            self._by_model[model] = UsageSum()

    def by_model(self) -> dict[str, LLMTokenUsage]:
        """Return what was counted, a usage for each model."""
        with self._lock:
            return {model: count.usage() for model, count in self._by_model.items()}

    def total(self) -> tuple[int, float]:
        """Return the tokens and the USD of all models; a cost that is not known counts as 0."""
        counted = self.by_model().values()
        cost = sum((usage.cost or Decimal(0) for usage in counted), Decimal(0))
        return sum(usage.total_tokens for usage in counted), float(cost)


process_totals = UsageTotals()
