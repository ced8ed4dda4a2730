"""The limits that the items of a batch share, and their use so far."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from turnwise.agents.retries import waiting
from turnwise.base.sync_async import Steps
from turnwise.errors import LimitReachedError
from turnwise.messages.stop_reason import StopReason, by_refusal
from turnwise.models.budget.call import BudgetRefusal, ModelCall, grant
from turnwise.models.budget.gate import Hold
from turnwise.models.budget.purse import Purse
from turnwise.tasks.limit_check import check_limit

# Seconds between two looks while other items hold what is missing: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.02, 1.0


class BatchPurse(Purse):
    """Pays for all items of a batch; safe to use from many threads.

    A call waits while calls of other items hold what is missing, because they will hardly use all of it. It is refused
    where only a larger budget would help. Raises `ValueError` for a limit that is no number of 0 or more.
    """

    def __init__(self, max_cost: Decimal | float = 0, max_tokens: int = 0) -> None:
        check_limit("total_max_cost", max_cost, int | float | Decimal)
        check_limit("total_max_tokens", max_tokens, int)
        super().__init__(max_cost=Decimal(str(max_cost)), max_tokens=max_tokens)
        self.stop_reason: StopReason | None = None

    @property
    def used_up(self) -> bool:
        """Return whether the budget is used up, so that no further item begins."""
        if self.stop_reason is not None:
            return True
        budget = self._budget.unreserved()
        nothing_left = [left for left in (budget.cost_left, budget.tokens_left) if left is not None and left <= 0]
        if nothing_left:
            limit = "cost" if budget.cost_left is not None and budget.cost_left <= 0 else "tokens"
            value, used = (
                (budget.max_cost, budget.spent_cost) if limit == "cost" else (budget.max_tokens, budget.spent_tokens)
            )
            self.stop_reason = StopReason(limit=limit, value=value, used=used, scope="batch")
        return bool(nothing_left)

    def refused(self, error: LimitReachedError) -> bool:
        """Return whether this purse refused a call; then no further item begins."""
        if error.purse is not self:
            return False
        if self.stop_reason is None:
            self.stop_reason = replace(by_refusal(error), scope="batch")
        return True

    def reserving(self, call: ModelCall) -> Steps[Hold]:
        pause = _FIRST_LOOK
        while True:
            try:
                return (yield from super().reserving(call))
            except LimitReachedError as error:
                if error.purse is not self or isinstance(grant(call, [self._budget.unreserved()]), BudgetRefusal):
                    raise
            yield waiting(pause)
            pause = min(2 * pause, _LAST_LOOK)
