"""Limits of spending, the spending so far, and the reservations of calls under way."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple, Protocol

from turnwise.base.money import decimal_string

# The most digits before the point, and behind it.
_DIGITS, _DECIMALS = 12, 18
_USD = re.compile(rf"[0-9]{{1,{_DIGITS}}}(\.[0-9]{{1,{_DECIMALS}}})?")


def parse_usd(text: str) -> Decimal | None:
    """An amount such as "0.50", exactly; None for what is none: a sign, an exponent, more than 12 digits before the
    point or 18 behind it, NaN."""
    return Decimal(text) if _USD.fullmatch(text) else None


def usd_text(amount: Decimal) -> str | None:
    """The amount as a text that `parse_usd` takes, None for one that it would refuse.

    Written without its exponent, an amount such as 1E+300000000 would take gigabytes: it is refused unwritten.
    """
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_DECIMALS or amount.adjusted() >= _DIGITS:
        return None
    text = decimal_string(amount)
    return text if _USD.fullmatch(text) else None


LimitKind = Literal["cost", "tokens"]


class CountedUsage(Protocol):
    """The use of calls, as it is counted (`LLMTokenUsage`) or on record (`Usage`)."""

    @property
    def prompt_tokens(self) -> int: ...

    @property
    def completion_tokens(self) -> int: ...

    @property
    def cost(self) -> Decimal | None: ...


class Amount(NamedTuple):
    """The use of a call, or its maximum: tokens of prompt and answer, and USD (None: its price is not known)."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)

    @classmethod
    def of(cls, usage: CountedUsage) -> Amount:
        """Return what was used, as budgets count it."""
        return cls(prompt_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, cost=usage.cost)

    @property
    def tokens(self) -> int:
        """Return what counts toward a limit of tokens."""
        return self.prompt_tokens + self.output_tokens


NOTHING = Amount()


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """The limits of one scope (None or 0: none), and what of them is gone.

    `scope` is run, batch, session, tenant_day or tenant_month, `scope_id` says which. A call of unknown price adds
    nothing to the cost.
    """

    scope: str = "run"
    scope_id: str = ""
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    spent_cost: Decimal = Decimal(0)
    spent_tokens: int = 0
    reserved_cost: Decimal = Decimal(0)
    reserved_tokens: int = 0

    @property
    def limited(self) -> bool:
        """Return whether the budget has a limit."""
        return bool(self.max_cost or self.max_tokens)

    @property
    def cost_left(self) -> Decimal | None:
        """USD that no one has spent or reserved, None without a limit; negative if a provider took more."""
        return self.max_cost - self.spent_cost - self.reserved_cost if self.max_cost else None

    @property
    def tokens_left(self) -> int | None:
        """The same in tokens."""
        return self.max_tokens - self.spent_tokens - self.reserved_tokens if self.max_tokens else None

    def lacks(self, amount: Amount) -> LimitKind | None:
        """The limit that the amount would go over, cost before tokens; an unknown cost goes over any."""
        if (left := self.cost_left) is not None and (amount.cost is None or amount.cost > left):
            return "cost"
        return "tokens" if (most := self.tokens_left) is not None and amount.tokens > most else None

    def reserve(self, amount: Amount) -> Budget:
        """Put the amount aside."""
        return self._with(reserved=amount)

    def release(self, amount: Amount) -> Budget:
        """Release what was reserved."""
        return self._with(reserved=_negative(amount))

    def spend(self, amount: Amount) -> Budget:
        """Count what was used."""
        return self._with(spent=amount)

    def settle(self, held: Amount, used: Amount) -> Budget:
        """Release what was reserved for a call, and count what it used."""
        return self._with(reserved=_negative(held), spent=used)

    def correct(self, counted: Amount, used: Amount) -> Budget:
        """Count what a call used in place of what was counted for it."""
        return self.spend(_negative(counted)).spend(used)

    def unreserved(self) -> Budget:
        """Return the budget as it would be without the reservations of calls in progress."""
        return replace(self, reserved_cost=Decimal(0), reserved_tokens=0)

    def _with(self, *, reserved: Amount = NOTHING, spent: Amount = NOTHING) -> Budget:
        if reserved is NOTHING and spent is NOTHING:
            return self
        if not (reserved.tokens or reserved.cost or spent.tokens or spent.cost):
            return self  # what costs nothing, such as models of tests
        # Not by `replace`, which takes three times as long: it is done for every call of a model.
        return Budget(
            scope=self.scope,
            scope_id=self.scope_id,
            max_cost=self.max_cost,
            max_tokens=self.max_tokens,
            reserved_cost=self.reserved_cost + (reserved.cost or 0),
            reserved_tokens=self.reserved_tokens + reserved.tokens,
            spent_cost=self.spent_cost + (spent.cost or 0),
            spent_tokens=self.spent_tokens + spent.tokens,
        )


def _negative(amount: Amount) -> Amount:
    if amount is NOTHING:
        return amount
    return Amount(
        prompt_tokens=-amount.prompt_tokens,
        output_tokens=-amount.output_tokens,
        cost=None if amount.cost is None else -amount.cost,
    )
