"""The arithmetic of limits, and the gate of a run in memory."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.own_models import Asked, OwnModel

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    LLMConfig,
    LLMResponse,
    LLMTokenUsage,
    RetryPolicy,
    Task,
)
from turnwise.base.sync_async import run_async, run_sync
from turnwise.errors import LimitReachedError, ModelRequestError, ModelUnavailableError
from turnwise.models.budget.budget import NOTHING, Amount, Budget
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall, grant
from turnwise.models.budget.gate import Hold
from turnwise.models.budget.purse import Purse

IN, OUT = Decimal("0.000001"), Decimal("0.000004")


def call(*, prompt: int = 100, least: int = 10, most: int = 1_000, priced: bool = True) -> ModelCall:
    def price(prompt_tokens: int, output_tokens: int) -> Amount:
        cost = IN * prompt_tokens + OUT * output_tokens if priced else None
        return Amount(prompt_tokens=prompt_tokens, output_tokens=output_tokens, cost=cost)

    return ModelCall(model="m", prompt=lambda: prompt, price=price, least=least, most=most)


def usage(prompt: int, output: int) -> LLMTokenUsage:
    return LLMTokenUsage(prompt_tokens=prompt, completion_tokens=output, cost=IN * prompt + OUT * output, calls=1)


money = st.integers(0, 20_000).map(lambda n: Decimal(n) / 1_000_000)
tokens = st.integers(0, 5_000)
budgets = st.builds(
    Budget,
    max_cost=st.none() | money,
    max_tokens=st.none() | tokens,
    spent_cost=money,
    spent_tokens=tokens,
    reserved_cost=money,
    reserved_tokens=tokens,
)
calls = st.builds(
    lambda prompt, least, more: call(prompt=prompt, least=least, most=least + more),
    tokens,
    st.integers(0, 600),
    st.integers(0, 4_000),
)


@given(call=calls, given_budgets=st.lists(budgets, max_size=4))
def test_what_is_granted_fits_every_budget_and_nothing_longer_would(
    call: ModelCall, given_budgets: list[Budget]
) -> None:
    answer = grant(call, given_budgets)

    limited = [budget for budget in given_budgets if budget.limited]
    if isinstance(answer, BudgetRefusal):
        assert answer.budget.lacks(call.amount(call.least)) == answer.limit
        return
    assert call.least <= answer.max_tokens <= call.most
    if not limited:
        assert answer == Granted(max_tokens=call.most, amount=NOTHING)
        return
    assert answer.amount == call.amount(answer.max_tokens)
    for budget in limited:
        after = budget.reserve(answer.amount)
        assert after.cost_left is None or after.cost_left >= 0
        assert after.tokens_left is None or after.tokens_left >= 0
    if answer.max_tokens < call.most:
        longer = call.amount(answer.max_tokens + 1)
        assert any(budget.lacks(longer) for budget in limited)


@given(budget=budgets, held=st.builds(Amount, prompt_tokens=tokens, output_tokens=tokens, cost=st.none() | money))
def test_what_was_put_aside_comes_back_to_the_last_digit(budget: Budget, held: Amount) -> None:
    used = Amount(prompt_tokens=1, output_tokens=2, cost=Decimal("0.0000001"))

    assert budget.reserve(held).release(held) == budget
    assert budget.reserve(held).settle(held, used) == budget.spend(used)
    assert budget.spend(held).correct(held, used) == budget.spend(used)


def test_a_small_limit_shortens_the_answer_instead_of_refusing_the_call() -> None:
    answer = grant(call(prompt=100, most=4_096), [Budget(max_tokens=300)])

    assert answer == Granted(max_tokens=200, amount=call().amount(200))


def test_the_tightest_budget_decides() -> None:
    cost = Budget(max_cost=IN * 100 + OUT * 50)
    answer = grant(call(), [Budget(max_tokens=300), replace(cost, scope="session")])

    assert isinstance(answer, Granted)
    assert answer.max_tokens == 50


def test_too_little_for_an_answer_of_use_is_refused_and_the_text_says_how_much_is_left() -> None:
    answer = grant(call(), [Budget(max_tokens=1_000), Budget(scope="tenant_day", max_tokens=109)])

    assert isinstance(answer, BudgetRefusal)
    error = answer.error()
    assert (error.limit, error.scope) == ("tokens", "tenant_day")
    assert "tenant's day's limit of tokens" in str(error)
    assert "may take 110 tokens, with the shortest answer of use; 109 are left" in str(error)


def test_a_call_without_a_price_is_refused_under_a_limit_of_cost_only() -> None:
    free = grant(call(priced=False), [Budget(max_tokens=2_000)])
    refused = grant(call(priced=False), [Budget(max_cost=Decimal(1_000))])

    assert isinstance(free, Granted)
    assert isinstance(refused, BudgetRefusal)
    assert "input_price and output_price" in refused.why


def test_a_refusal_that_only_calls_under_way_caused_is_temporary() -> None:
    under_way = grant(call(), [Budget(max_tokens=150, reserved_tokens=100)])
    spent = grant(call(), [Budget(max_tokens=150, spent_tokens=100)])

    assert isinstance(under_way, BudgetRefusal)
    assert under_way.temporary
    assert isinstance(spent, BudgetRefusal)
    assert not spent.temporary


def held(purse: Purse, wanted: ModelCall) -> Hold:
    return run_sync(purse.reserving(wanted))


def test_calls_at_the_same_time_share_what_is_left() -> None:
    purse = Purse(max_tokens=1_500)
    first = held(purse, call())
    second = held(purse, call())

    assert (first.max_tokens, second.max_tokens) == (1_000, 300)
    with pytest.raises(LimitReachedError, match="0 are left"):
        held(purse, call())
    first.settle(usage(100, 20))
    assert held(purse, call()).max_tokens == 880
    assert purse.tokens == 120


def test_a_lost_call_counts_all_that_was_put_aside() -> None:
    purse = Purse(max_tokens=1_500)
    held(purse, call(most=400)).lost()

    assert purse.tokens == 500
    assert purse.used == usage(100, 400)


def test_a_purse_within_another_needs_room_in_both_and_keeps_only_what_was_granted() -> None:
    outer = Purse(max_tokens=200)
    with outer.open():
        inner = Purse(max_tokens=1_000)
    first = held(inner, call())

    assert first.max_tokens == 100
    first.settle(usage(100, 40))
    assert (inner.tokens, outer.tokens) == (140, 140)
    with pytest.raises(LimitReachedError) as refused:
        held(inner, call())
    assert refused.value.purse is outer
    assert held(Purse(max_tokens=860), call()).max_tokens == 760  # nothing of the refused call is kept aside


def test_after_a_refusal_of_the_outer_purse_the_inner_one_keeps_nothing_aside() -> None:
    outer = Purse(max_tokens=100)
    with outer.open():
        inner = Purse(max_tokens=1_000)
    with pytest.raises(LimitReachedError):
        held(inner, call())

    assert inner._budget == Budget(max_cost=Decimal(0), max_tokens=1_000)


def test_threads_never_put_aside_more_than_there_is() -> None:
    purse = Purse(max_tokens=10_000)
    granted: list[int] = []

    def work() -> None:
        for _ in range(50):
            try:
                hold = held(purse, call(prompt=10, least=1, most=90))
            except LimitReachedError:
                return
            granted.append(hold.max_tokens)
            hold.settle(usage(10, hold.max_tokens))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert purse.tokens == sum(granted) + 10 * len(granted) <= 10_000
    assert purse.tokens > 9_980  # and all but too little for one more was used


class Counting(OwnModel):
    """Answers as long as it may, and notes the limits that it was sent."""

    def __init__(self, config: LLMConfig, faults: list[Exception] | None = None) -> None:
        super().__init__(self._counted, config)
        self.limits: list[int] = []
        self.faults = faults or []

    def _counted(self, asked: Asked) -> LLMResponse:
        self.limits.append(asked.max_tokens)
        if self.faults:
            raise self.faults.pop()
        prompt = sum(len(message.content.encode()) for message in asked.messages)
        return LLMResponse(message="on and on", usage=usage(prompt, asked.max_tokens))

    def price(self, usage: LLMTokenUsage) -> Decimal:
        return IN * usage.prompt_tokens + OUT * usage.completion_tokens


def team(model: Counting) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(name="Talker", handle_llm_no_tool="go on"))
    agent.llm = model
    return Task(agent, interactive=False)


@pytest.mark.parametrize("in_event_loop", [False, True])
def test_no_run_in_memory_goes_over_its_limit(in_event_loop: bool) -> None:
    model = Counting(LLMConfig(max_output_tokens=1_000, min_output_tokens=100))
    task = team(model)
    limit = Decimal("0.012")
    result = asyncio.run(task.run_async("go", max_cost=limit)) if in_event_loop else task.run("go", max_cost=limit)

    assert result is not None
    assert result.content == "go on"
    assert model.limits[:2] == [1_000, 1_000]
    assert 100 <= model.limits[-1] < 1_000
    spent = task.agent.usage.cost
    assert spent is not None
    assert limit - Decimal("0.001") < spent <= limit


def test_a_model_without_a_price_is_not_called_under_a_limit_of_cost() -> None:
    class Unpriced(Counting):
        def price(self, usage: LLMTokenUsage) -> Any:
            return None

    model = Unpriced(LLMConfig())
    task = team(model)
    result = task.run("go", max_cost=Decimal(100), turns=3)

    assert result is not None
    assert result.content == "go"
    assert model.limits == []
    assert task.run("go", max_tokens=100_000, turns=1) is not None


@pytest.mark.parametrize(
    ("fault", "spent"),
    [
        (ModelRequestError("no"), 0),
        (ModelUnavailableError("no connection"), 0),
        (ModelUnavailableError("too late", may_have_cost=True), 700),
        (RuntimeError("who knows"), 700),
    ],
)
def test_a_call_that_failed_costs_what_it_may_have_cost(fault: Exception, spent: int) -> None:
    model = Counting(LLMConfig(max_output_tokens=500, min_output_tokens=100), [fault])
    agent = ChatAgent(ChatAgentConfig(name="Talker", retry=RetryPolicy.NEVER))
    agent.llm = model
    purse = Purse(max_tokens=700)
    with purse.open(), pytest.raises(type(fault)):
        agent.llm_response("x")

    assert purse.tokens <= spent
    assert bool(purse.tokens) == bool(spent)


def test_the_bound_of_a_prompt_is_never_below_its_bytes() -> None:
    # Digits and signs have a token each in some vocabularies: three and a half times the estimate.
    text = "1,2;3|4" * 300
    model = Counting(LLMConfig(max_output_tokens=50, min_output_tokens=50))
    agent = ChatAgent(ChatAgentConfig(name="Talker", system_message="s"))
    agent.llm = model
    purse = Purse(max_tokens=len(text) + 50)
    with purse.open(), pytest.raises(LimitReachedError):
        agent.llm_response(text)

    assert model.limits == []


def test_coroutines_share_a_purse_too() -> None:
    purse = Purse(max_tokens=1_000)

    async def one() -> int:
        hold = await run_async(purse.reserving(call(prompt=100, least=100, most=150)))
        await asyncio.sleep(0)
        hold.settle(usage(100, hold.max_tokens))
        return hold.max_tokens

    async def many() -> list[int | BaseException]:
        return await asyncio.gather(*(one() for _ in range(10)), return_exceptions=True)

    answers = asyncio.run(many())
    assert purse.tokens <= 1_000
    assert [a for a in answers if isinstance(a, LimitReachedError)]


def test_an_exact_count_takes_the_place_of_the_bytes() -> None:
    class Exact(Counting):
        def tokenizer(self) -> Any:
            return lambda text: len(text) // 4

    agent = ChatAgent(ChatAgentConfig(name="Talker", system_message="s"))
    agent.llm = model = Exact(LLMConfig(max_output_tokens=50, min_output_tokens=50))
    purse = Purse(max_tokens=700)
    with purse.open():
        agent.llm_response("word " * 400)

    assert model.limits == [50]
