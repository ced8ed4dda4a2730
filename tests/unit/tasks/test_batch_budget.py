"""A batch knows what it has used, and keeps to a budget of all its items together."""

from __future__ import annotations

import asyncio
import logging
from decimal import Decimal
from typing import Any

import pytest

from turnwise import (
    BatchResults,
    ChatAgent,
    ChatAgentConfig,
    ExceptionHandling,
    LanguageModel,
    LLMTokenUsage,
    MockLMConfig,
    StatusCode,
    Task,
    llm_response_batch,
    run_batch_function,
    run_batch_tasks,
)
from turnwise.models.base import LLMResponse
from turnwise.testing import MockLM

# USD for a call, whatever is said.
PRICE = Decimal("0.10")


class Priced(MockLM):
    """Every call costs the same, and takes ten tokens; at most twice as much is put aside for it."""

    def chat(self, messages: Any, *args: Any, **options: Any) -> LLMResponse:
        return self._charged(super().chat(messages, *args, **options))

    async def achat(self, messages: Any, *args: Any, **options: Any) -> LLMResponse:
        await asyncio.sleep(0.001)
        return self._charged(await super().achat(messages, *args, **options))

    def _charged(self, response: LLMResponse) -> LLMResponse:
        usage = LLMTokenUsage(prompt_tokens=6, completion_tokens=4, cost=PRICE, calls=1)
        return response.model_copy(update={"usage": usage})

    def price(self, usage: LLMTokenUsage) -> Decimal:
        return PRICE * usage.calls

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        return LLMTokenUsage(prompt_tokens=10, completion_tokens=10, cost=2 * PRICE, calls=1)


class PricedConfig(MockLMConfig):
    def client(self) -> LanguageModel:
        return Priced(self)


def _agent(**more: Any) -> ChatAgent:
    return ChatAgent(ChatAgentConfig(name="Poet", llm=PricedConfig(response_fn=lambda text: f"DONE {text}", **more)))


def _task(**more: Any) -> Task[str]:
    return Task(_agent(**more), interactive=False)[str]


@pytest.mark.parametrize("sequential", [True, False])
def test_a_batch_tells_what_all_its_items_have_used(sequential: bool) -> None:
    results = run_batch_tasks(_task(), ["a", "b", "c"], sequential=sequential)

    assert results == ["a", "b", "c"]
    assert isinstance(results, BatchResults)
    assert (results.usage.calls, results.usage.total_tokens, results.usage.cost) == (3, 30, 3 * PRICE)
    assert results.outcomes == ["done"] * 3
    assert results.stop_reason is None


@pytest.mark.parametrize("sequential", [True, False])
def test_items_are_not_begun_once_the_budget_is_used_up(sequential: bool, caplog: pytest.LogCaptureFixture) -> None:
    results = run_batch_tasks(
        _task(), list("abcdefgh"), sequential=sequential, batch_size=2, total_max_cost=Decimal("0.45")
    )

    # The fourth call leaves too little for what the fifth may cost at most.
    assert results.usage.cost is not None and results.usage.cost <= Decimal("0.45")
    assert results.outcomes.count("done") == 3
    assert "not_started" in results.outcomes
    assert set(results.outcomes) == {"done", "limit", "not_started"}
    reason = results.stop_reason
    assert reason is not None and (reason.limit, reason.scope, reason.value) == ("cost", "batch", Decimal("0.45"))
    assert str(reason).startswith("stopped: the batch's cost limit $0.45")
    assert [one.levelname for one in caplog.records if getattr(one, "action", "") == "batch_stopped"] == ["WARNING"]


def test_items_side_by_side_wait_for_what_others_only_hold() -> None:
    # Two calls at once fit by what they may cost at most; by what they do cost, all nine and the tenth do.
    results = run_batch_tasks(_task(), list("abcdefghi"), sequential=False, total_max_cost=Decimal("1.00"))

    assert results.outcomes == ["done"] * 9
    assert results.usage.cost == Decimal("0.90")


def test_tokens_are_a_budget_too() -> None:
    results = run_batch_tasks(_task(), list("abcd"), total_max_tokens=30)

    assert results == ["a", "b", None, None]
    assert results.outcomes == ["done", "done", "limit", "not_started"]
    assert results.stop_reason is not None and results.stop_reason.limit == "tokens"


def test_the_limits_of_each_run_stay_its_own() -> None:
    task = Task(_agent(), interactive=False)
    results = run_batch_tasks(task, ["a", "b"], max_tokens=5, total_max_tokens=1_000)

    assert results.outcomes == ["done", "done"]
    assert [result.metadata.status for result in results] == [StatusCode.MAX_TOKENS] * 2
    assert results.stop_reason is None


def test_the_calls_of_an_agent_s_clones_and_of_functions_count() -> None:
    agent = _agent()
    before = LanguageModel.tot_tokens_cost()
    answers = llm_response_batch(agent, ["a", "b"], total_max_cost=1)
    asked = run_batch_function(lambda text: agent.clone(7).llm_response(text), ["a"], total_max_cost=1)
    after = LanguageModel.tot_tokens_cost()

    assert (answers.usage.calls, asked.usage.calls) == (2, 1)
    # The totals of the process count the calls of clones, as those of the agent that they were made of.
    assert after[0] - before[0] == 30


def test_an_item_that_fails_counts_what_it_used() -> None:
    def refuse(result: Any) -> Any:
        raise ValueError(result)

    results = run_batch_tasks(_task(), ["a", "b"], output_map=refuse, handle_exceptions=ExceptionHandling.RETURN_NONE)

    assert (results, results.outcomes, results.usage.calls) == ([None, None], ["failed", "failed"], 2)


def test_a_first_result_leaves_the_others_undone_without_a_reason() -> None:
    results = run_batch_tasks(_task(), ["a", "b", "c"], stop_on_first_result=True, batch_size=1)

    assert results == ["a", None, None]
    assert results.outcomes == ["done", "not_started", "not_started"]
    assert results.stop_reason is None


def test_a_budget_used_up_by_the_last_item_is_no_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        results = run_batch_tasks(_task(), ["a", "b"], total_max_tokens=30)

    assert results.outcomes == ["done", "done"]
    assert results.stop_reason is None
    assert not [one for one in caplog.records if getattr(one, "action", "") == "batch_stopped"]


def test_a_batch_without_items_is_empty() -> None:
    results = run_batch_tasks(_task(), [])
    assert (results, results.usage.calls, results.outcomes) == ([], 0, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total_max_cost", -1),
        ("total_max_cost", float("nan")),
        ("total_max_cost", "x"),
        ("total_max_tokens", -5),
        ("total_max_tokens", 1.5),
        ("total_max_tokens", True),
    ],
)
@pytest.mark.parametrize("items", [[], ["a"]], ids=["none", "one"])
def test_a_budget_that_is_none_is_refused(name: str, value: Any, items: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value!r}; expected .* at least 0"):
        llm_response_batch(_agent(), items, **{name: value})
