"""Calls that an answer makes after its first one, in served runs: they wait in place, so no call is paid twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.own_models import Asked, OwnModel
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, LLMConfig, LLMResponse, LLMTokenUsage, Task
from turnwise.errors import DatabaseUnavailableError
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import Granted, ModelCall
from turnwise.record.budgets.budgets import ScopeLimits
from turnwise.record.store import Store
from turnwise.record.values.records import Claim

_DAY = 50_000


class Critic(ChatAgent):
    """Drafts, and improves the draft: two calls of its model for one answer."""

    def llm_response(self, message: Any = None) -> Any:
        draft = super().llm_response(message)
        assert draft is not None
        return super().llm_response("Improve: " + draft.content)

    async def llm_response_async(self, message: Any = None) -> Any:
        draft = await super().llm_response_async(message)
        assert draft is not None
        return await super().llm_response_async("Improve: " + draft.content)


class Priced(OwnModel):
    """A model of known price, whose calls may wait for more budget."""

    def price(self, usage: LLMTokenUsage) -> Decimal:
        return Decimal(0)


class Calls:
    """The calls of a critic's model; `drafted` is set once the first is under way, which then waits for `go_on`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.drafted, self.go_on = threading.Event(), threading.Event()

    def answer(self, asked: Asked) -> LLMResponse:
        self.asked.append(asked.messages[-1].content)
        if len(self.asked) == 1:
            self.drafted.set()
            assert self.go_on.wait(30)
        usage = LLMTokenUsage(prompt_tokens=100, completion_tokens=100, calls=1, cost=Decimal(0))
        return LLMResponse(message="DONE", usage=usage)


@contextmanager
def desk(directory: Path, calls: Calls, **settings: Any) -> Iterator[Desk]:
    """A critic, served over a database of its own."""

    def critic() -> Task[Any]:
        agent = Critic(ChatAgentConfig(name="Critic"))
        agent.llm = Priced(calls.answer, LLMConfig(max_output_tokens=100, min_output_tokens=100))
        return Task(agent, interactive=False, single_round=True)

    database = fresh_sqlite(directory / "turnwise.db")
    app = App("tests")
    app.task(name="desk")(critic)
    try:
        with Desk(Store(database), app, **settings) as made:
            yield made
    finally:
        database.close()


def other_call(tokens: int) -> ModelCall:
    def price(prompt: int, output: int) -> Amount:
        return Amount(prompt_tokens=prompt, output_tokens=output)

    return ModelCall(model="m", prompt=lambda: tokens, price=price)


def hold(serving: Desk, tokens: int) -> Claim:
    """Another run's call that is under way, and holds so many tokens of the tenant's day."""
    moved = serving.coordinator.move(serving.submit("desk"))
    worker = serving.responders._incarnation.current()
    assert moved.ask is not None and worker is not None
    claim = serving.store.worker.claim(moved.ask.queue, worker)
    assert claim is not None
    limits = ScopeLimits(tenant_day=(None, _DAY))
    assert isinstance(serving.store.worker.reserve(claim, 1, other_call(tokens), limits), Granted)
    return claim


@contextmanager
def drafting(serving: Desk, calls: Calls, **limits: Any) -> Iterator[tuple[str, threading.Thread]]:
    """A run whose first call is under way. At the end of the block the call returns, and the answer is awaited."""
    run_id = serving.submit("desk", **limits)
    moved = serving.coordinator.move(run_id)
    answering = threading.Thread(target=serving.answer, args=(moved,))
    answering.start()
    assert calls.drafted.wait(30)
    try:
        yield run_id, answering
    finally:
        calls.go_on.set()
        answering.join(30)
        assert not answering.is_alive()


def test_a_second_call_waits_for_what_others_hold_of_a_budget(tmp_path: Path) -> None:
    calls = Calls()
    with desk(tmp_path, calls, tenant_day_max_tokens=_DAY) as serving:
        with drafting(serving, calls) as (run_id, answering):
            held = hold(serving, _DAY - 300)
            calls.go_on.set()
            answering.join(1.0)
            waited = answering.is_alive()
            serving.store.worker.release(held, "done")
        run = serving.go_on(run_id)

    assert waited
    assert (run.status, run.calls, len(calls.asked)) == ("completed", 2, 2)


def test_a_second_call_that_only_more_budget_would_help_is_refused_and_not_made_again_for_hours(tmp_path: Path) -> None:
    calls = Calls()
    with desk(tmp_path, calls) as serving:
        with drafting(serving, calls, max_tokens=299, on_limit="wait") as (run_id, _):
            pass
        run = serving.go_on(run_id)

    assert (run.status, run.status_code, run.calls, len(calls.asked)) == ("completed", "MAX_TOKENS", 1, 1)


def test_a_first_call_still_waits_for_more_budget_without_a_worker(tmp_path: Path) -> None:
    calls = Calls()
    with desk(tmp_path, calls) as serving:
        run = serving.go_on(serving.submit("desk", max_tokens=10, on_limit="wait"))

    assert (run.status, calls.asked) == ("waiting", [])


def test_a_second_call_waits_for_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()
    with desk(tmp_path, calls, tenant_day_max_tokens=_DAY) as serving:
        with drafting(serving, calls) as (run_id, _):
            reserve, failed = serving.store.worker.reserve, list[bool]()

            def unavailable_once(*given: Any, **more: Any) -> Any:
                if not failed:
                    failed.append(True)
                    raise DatabaseUnavailableError("the database does not answer")
                return reserve(*given, **more)

            monkeypatch.setattr(serving.store.worker, "reserve", unavailable_once)
        run = serving.go_on(run_id)

    assert failed
    assert (run.status, run.calls, len(calls.asked)) == ("completed", 2, 2)
