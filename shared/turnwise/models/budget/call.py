"""A call that wants to be made, and whether its budgets have room for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from turnwise.errors import LimitReachedError
from turnwise.models.base import LLMMessage, ToolChoice
from turnwise.models.budget.budget import NOTHING, Amount, Budget, LimitKind
from turnwise.models.language_model import LanguageModel
from turnwise.models.limits.provider import Target


@dataclass(kw_only=True, eq=False)
class ModelCall:
    """A call of `model`, whose answer may have up to `most` tokens, and is of no use with fewer than `least`.

    `prompt` gives an upper bound of the prompt's tokens; it is called once, and only if a limit asks for it. `price`
    gives what a prompt and an answer of so many tokens come to; a longer answer never costs less. `client` is the
    model's client or the embedder. `likely` gives an estimate of the prompt, for the limits of its provider. `sent` is
    what an agent's model is asked, for a gate that collects calls.
    """

    model: str
    prompt: Callable[[], int]
    price: Callable[[int, int], Amount]
    least: int = 0
    most: int = 0
    client: object = None
    likely: Callable[[], int] | None = None
    sent: tuple[Sequence[LLMMessage], ToolChoice | None] | None = None

    @property
    def target(self) -> Target | None:
        """The provider that is called, and its limits; None where no one counts."""
        return self.client.target() if isinstance(self.client, LanguageModel) else None

    @cached_property
    def likely_tokens(self) -> int:
        """An estimate of what the provider counts for it: the prompt, and the longest answer."""
        return (self.likely() if self.likely is not None else self.prompt_tokens) + self.most

    @cached_property
    def prompt_tokens(self) -> int:
        """The upper bound of the prompt."""
        return self.prompt()

    def amount(self, output_tokens: int) -> Amount:
        """Return what the call uses at most with an answer of so many tokens."""
        return self.price(self.prompt_tokens, output_tokens)

    def cut(self, output_tokens: int) -> ModelCall:
        """The same call with a shorter answer."""
        return replace(self, most=output_tokens, prompt=lambda: self.prompt_tokens)


@dataclass(frozen=True, kw_only=True, slots=True)
class Granted:
    """The call may be made with that output limit; `amount` is reserved for it."""

    max_tokens: int
    amount: Amount


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetRefusal:
    """The call is not made: `budget` has no room for even its shortest answer, which takes `amount`."""

    limit: LimitKind
    budget: Budget
    amount: Amount
    model: str

    @property
    def temporary(self) -> bool:
        """Return whether there would be room if calls in progress used none of their reservations."""
        return self.budget.unreserved().lacks(self.amount) is None

    @property
    def why(self) -> str:
        """The refusal in words."""
        call, left = f"a call of model {self.model!r} may", self.budget.tokens_left
        answer = ", with the shortest answer of use" if self.amount.output_tokens else ""
        if self.limit == "tokens":
            return f"{call} take {self.amount.tokens} tokens{answer}; {left} are left"
        if self.amount.cost is None:
            return (
                f"model {self.model!r} has no known price, so no one can say what a call costs; give its configuration "
                "input_price and output_price (USD per million tokens; an embedder's has the first alone), or take the "
                "limit away"
            )
        usd = self.budget.cost_left or 0
        return f"{call} cost {self.amount.cost:f} USD{answer}; {usd:f} USD are left"

    def error(self, purse: object = None) -> LimitReachedError:
        """The refusal as it is raised; `purse` is the gate that refused."""
        budget = self.budget
        value, used = (
            (budget.max_cost, budget.spent_cost) if self.limit == "cost" else (budget.max_tokens, budget.spent_tokens)
        )
        return LimitReachedError(self.limit, self.why, purse, scope=budget.scope, value=value, used=used)


def grant(call: ModelCall, budgets: Sequence[Budget]) -> Granted | BudgetRefusal:
    """Room for the call in every budget, its answer as long as the tightest one allows; or the first that has none.

    Nothing is reserved yet: that is for whoever keeps the budgets, before anyone else looks at them.
    """
    limited = [budget for budget in budgets if budget.limited]
    if not limited:
        return Granted(max_tokens=call.most, amount=NOTHING)
    shortest = call.amount(call.least)
    for budget in limited:
        if (limit := budget.lacks(shortest)) is not None:
            return BudgetRefusal(limit=limit, budget=budget, amount=shortest, model=call.model)
    fits, too_long = call.least, call.most + 1
    if _fits(call, call.most, limited):
        fits = call.most
    while fits + 1 < too_long and fits < call.most:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if _fits(call, middle, limited) else (fits, middle)
    return Granted(max_tokens=fits, amount=call.amount(fits))


def _fits(call: ModelCall, output_tokens: int, budgets: Sequence[Budget]) -> bool:
    amount = call.amount(output_tokens)
    return all(budget.lacks(amount) is None for budget in budgets)
