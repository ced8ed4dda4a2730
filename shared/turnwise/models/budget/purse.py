"""The gate of a run in this process: its budget is in memory."""

from __future__ import annotations

import threading
from decimal import Decimal

from turnwise.base.call_context import CallContext
from turnwise.base.contextual import Bound
from turnwise.base.sync_async import Steps
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.budget.budget import NOTHING, Amount, Budget
from turnwise.models.budget.call import BudgetRefusal, ModelCall, grant
from turnwise.models.budget.gate import Hold, as_usage, current_gate, through, unpaid
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.models.tokens.usage_totals import UsageSum


class Purse:
    """The limits of one run (USD, and tokens; 0 for none), and what it has used; safe to use from many threads.

    A purse made while another gate stands is within it: a call needs room in both, and counts in both.
    """

    def __init__(self, *, max_cost: Decimal = Decimal(0), max_tokens: int = 0) -> None:
        self._lock = threading.Lock()
        self._budget = Budget(max_cost=max_cost, max_tokens=max_tokens)
        self._used = UsageSum()
        self._outer = current_gate()

    @property
    def used(self) -> LLMTokenUsage:
        """All that was paid from this purse; its cost is unknown if that of one call is."""
        with self._lock:
            return self._used.usage()

    @property
    def cost(self) -> Decimal:
        """USD; calls without a known price add nothing."""
        return self._budget.spent_cost

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self._budget.spent_tokens

    def open(self) -> Bound[CallContext]:
        """Pay from this purse until the block is left."""
        return through(self)

    def reserving(self, call: ModelCall) -> Steps[Hold]:
        """Put room aside here and at the gates around this one; raises `LimitReachedError`."""
        mine, most = NOTHING, call.most
        if self._budget.limited:
            with self._lock:
                granted = grant(call, [self._budget])
                if isinstance(granted, BudgetRefusal):
                    raise granted.error(self)
                self._budget = self._budget.reserve(granted.amount)
            mine, most = granted.amount, granted.max_tokens
        within = call if most == call.most else call.cut(most)
        outer: Hold
        try:
            outer = yield from (unpaid(within) if self._outer is None else self._outer.reserving(within))
        except BaseException:
            self._settle(mine, None)
            raise
        if outer.max_tokens < most and mine is not NOTHING:
            mine = self._shrunk(mine, call.amount(outer.max_tokens))
        return _Held(self, mine, outer)

    def count(self, usage: LLMTokenUsage) -> None:
        self._settle(NOTHING, usage)
        if self._outer is not None:
            self._outer.count(usage)

    def _shrunk(self, held: Amount, needed: Amount) -> Amount:
        with self._lock:
            self._budget = self._budget.release(held).reserve(needed)
        return needed

    def _settle(self, held: Amount, usage: LLMTokenUsage | None) -> None:
        with self._lock:
            self._budget = self._budget.settle(held, Amount.of(usage) if usage is not None else NOTHING)
            if usage is not None:
                self._used.add(usage)


class _Held:
    def __init__(self, purse: Purse, amount: Amount, outer: Hold) -> None:
        self.max_tokens = outer.max_tokens
        self._purse, self._amount, self._outer = purse, amount, outer

    def charged(self, most: LLMTokenUsage) -> LLMTokenUsage:
        return self._outer.charged(most)

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        self._purse._settle(self._amount, usage)
        self._outer.settle(usage, announced)

    def refused(self, announced: RateLimits | None) -> None:
        self._purse._settle(self._amount, None)
        self._outer.refused(announced)

    def lost(self, *, answered: bool = False) -> None:
        # Without a limit nothing was reserved, and what was lost is not known.
        self._purse._settle(self._amount, as_usage(self._amount) if self._amount is not NOTHING else None)
        self._outer.lost(answered=answered)

    def release(self, *, answered: bool = False) -> None:
        self._purse._settle(self._amount, None)
        self._outer.release(answered=answered)
