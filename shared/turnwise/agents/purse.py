"""What a run may spend, at hand wherever one of its models is called.

A run opens its purse around each call of a responder, so that every model call made meanwhile is paid from it: by the
agent's own model, by another agent in a handler, or by a task that a handler runs. Such a task has a purse of its own
within the outer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal

from turnwise.errors import LimitReachedError
from turnwise.llm.base import LLMTokenUsage


class Purse:
    """The limits of one run (USD, and tokens; 0 for none), and what it has used.

    `spent` and `tokens` were used before, by earlier calls of the run that another process made.
    """

    def __init__(
        self, *, max_cost: Decimal = Decimal(0), max_tokens: int = 0, spent: Decimal = Decimal(0), tokens: int = 0
    ) -> None:
        self.max_cost, self.max_tokens = max_cost, max_tokens
        # Of calls without a known price nothing is added to the cost.
        self.cost, self.tokens = spent, tokens
        # All that was paid from this purse; its cost is unknown if that of one call is.
        self.used = LLMTokenUsage()
        self._outer = _current.get()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Pay from this purse until the block is left."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def pay(self, usage: LLMTokenUsage) -> None:
        """Add what a call used, here and in the purses around this one."""
        self.used = self.used.plus(usage)
        self.cost += usage.cost or 0
        self.tokens += usage.total_tokens
        if self._outer is not None:
            self._outer.pay(usage)

    @property
    def limited(self) -> bool:
        """Whether a call may be too much."""
        return self.max_cost > 0 or self.max_tokens > 0 or (self._outer is not None and self._outer.limited)

    def check(self, most: LLMTokenUsage) -> None:
        """Raise `LimitReachedError` if a call that uses `most` would go over a limit, of this run or one around it."""
        if self._outer is not None:
            self._outer.check(most)
        if self.max_cost > 0 and most.cost is not None and self.cost + most.cost > self.max_cost:
            raise LimitReachedError("cost", f"may cost {most.cost} USD; {self.max_cost - self.cost} USD are left", self)
        if self.max_tokens > 0 and self.tokens + most.total_tokens > self.max_tokens:
            left = self.max_tokens - self.tokens
            raise LimitReachedError("tokens", f"may take {most.total_tokens} tokens; {left} are left", self)


_current: ContextVar[Purse | None] = ContextVar("turnwise_purse", default=None)


def purse() -> Purse | None:
    """The purse that calls are paid from here; None outside of a run."""
    return _current.get()
