"""Limits of served runs: the same calls are refused as in one process, and a run may wait for more budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept
from tests.support.own_models import Asked, OwnModel
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    LLMConfig,
    LLMResponse,
    LLMTokenUsage,
    Task,
    ToolMessage,
)
from turnwise.base.clock import SystemClock
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import Granted, ModelCall
from turnwise.processes.metrics import RecordCollector
from turnwise.record.budgets.budgets import ScopeLimits
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT, TenantLimits
from turnwise.record.values.records import RunRecord
from turnwise.serving.attempts.budget_gate import ServedGate, Spending
from turnwise.serving.attempts.work_times import Work
from turnwise.serving.moves.permits import permit

IN, OUT = Decimal("0.000001"), Decimal("0.000004")
CONFIG = LLMConfig(max_output_tokens=1_000, min_output_tokens=100)


class Talker(OwnModel):
    """Uses all that it may, and notes the limits that it was sent."""

    def __init__(self, sent: list[int], said: str = "on and on", *, priced: bool = True) -> None:
        super().__init__(self._talk, CONFIG)
        self.sent, self.said, self.priced = sent, said, priced

    def _talk(self, asked: Asked) -> LLMResponse:
        self.sent.append(asked.max_tokens)
        prompt = sum(len(message.content.encode()) for message in asked.messages)
        usage = LLMTokenUsage(prompt_tokens=prompt, completion_tokens=asked.max_tokens, calls=1)
        return LLMResponse(message=self.said, usage=usage.model_copy(update={"cost": self.price(usage)}))

    def price(self, usage: LLMTokenUsage) -> Decimal | None:
        return IN * usage.prompt_tokens + OUT * usage.completion_tokens if self.priced else None


class Consult(ToolMessage):
    request: str = "consult"
    purpose: str = "To ask an expert."


class Boss(ChatAgent):
    """Asks an expert in a handler, who is no part of the team."""

    expert: Any = None

    def consult(self, _: Consult) -> str:
        said = self.expert.run("what do you say?", turns=2)
        return said.content if said is not None else "nothing"


def talking(sent: list[int], **more: Any) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(name="Talker", handle_llm_no_tool="go on"))
    agent.llm = Talker(sent, **more)
    return Task(agent, interactive=False)


def consulting(sent: list[int]) -> Task[Any]:
    boss = Boss(ChatAgentConfig(name="Boss", llm=None))
    boss.llm = Talker(sent, '{"request": "consult"}')
    boss.enable_message(Consult)
    boss.expert = talking(sent)
    return Task(boss, interactive=False)


@contextmanager
def desk(directory: Path, make: Any, **settings: Any) -> Iterator[Desk]:
    database = fresh_sqlite(directory / "turnwise.db")
    try:
        with desk_over(database, make, **settings) as made:
            yield made
    finally:
        database.close()


@contextmanager
def desk_over(database: Database, make: Any, **settings: Any) -> Iterator[Desk]:
    app = App("tests")
    app.task(name="desk")(make)
    with Desk(Store(database), app, **settings) as made:
        yield made


def ended(desk: Desk, run_id: str) -> RunRecord:
    run = desk.go_on(run_id)
    assert run.ended, run.waiting_for
    return run


def limit_reached(desk: Desk, run_id: str) -> dict[str, Any]:
    found = [event.data or {} for event in desk.store.inspector.events(run_id) if event.type == "limit.reached"]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("make", [talking, consulting])
@pytest.mark.parametrize(
    "limits", [{"max_cost": Decimal("0.012")}, {"max_tokens": 2_600}, {"max_tokens": 50}, {"max_tokens": 1_300}]
)
def test_served_and_in_process_make_and_refuse_the_same_calls(
    tmp_path: Path, make: Any, limits: dict[str, Any]
) -> None:
    here: list[int] = []
    task = make(here)
    result = task.run("hello", **limits)

    there: list[int] = []
    with desk(tmp_path, lambda: make(there)) as serving:
        run = ended(serving, serving.submit("desk", "hello", **limits))

    assert there == here
    assert run.status_code in ("MAX_COST", "MAX_TOKENS")
    assert run.status == "completed"
    assert run.result is not None
    assert run.result["content"] == (result.content if result is not None else None)
    assert run.cost <= limits.get("max_cost", 1_000)
    assert run.prompt_tokens + run.completion_tokens <= limits.get("max_tokens", 10**9)
    assert (run.reserved_cost, run.reserved_tokens) == (Decimal(0), 0)


def test_a_run_without_any_limit_reserves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk(tmp_path, lambda: consulting([])) as serving:
        monkeypatch.setattr(serving.store.worker, "reserve", lambda *_, **__: pytest.fail("a transaction too many"))
        run = ended(serving, serving.submit("desk", turns=4))

    assert run.calls == 4 + 2 - 2  # two of the boss, two of the expert
    assert run.cost > 0


def test_a_model_without_a_price_is_refused_under_a_limit_of_cost_and_the_event_says_how_to_mend_it(
    tmp_path: Path,
) -> None:
    sent: list[int] = []
    with desk(tmp_path, lambda: talking(sent, priced=False)) as serving:
        run = ended(serving, serving.submit("desk", max_cost=Decimal(5), on_limit="wait"))
        told = limit_reached(serving, run.id)

    assert (run.status, run.status_code, sent) == ("completed", "MAX_COST", [])
    assert (told["limit"], told["scope"]) == ("cost", "run")
    assert "input_price and output_price" in told["message"]


@pytest.mark.parametrize(
    ("scope", "settings"),
    [
        ("session", {"session_max_tokens": 2_600}),
        ("tenant_day", {"tenant_day_max_tokens": 2_600}),
        ("tenant_month", {"tenant_month_max_cost": Decimal("0.01")}),
    ],
)
def test_a_limit_of_session_and_tenant_ends_the_run_and_holds_for_the_next(
    tmp_path: Path, scope: str, settings: dict[str, Any]
) -> None:
    sent: list[int] = []
    with desk(tmp_path, lambda: talking(sent), **settings) as serving:
        first = ended(serving, serving.submit("desk", session_id="s", turns=100))
        told = limit_reached(serving, first.id)
        second = ended(serving, serving.submit("desk", session_id="s", turns=100))
        stranger = serving.submit("desk", session_id="other", tenant="other", turns=1)
        assert ended(serving, stranger).status_code == "FIXED_TURNS"

    expected = "MAX_COST" if "cost" in next(iter(settings)) else "MAX_TOKENS"
    assert first.status_code == second.status_code == expected
    assert told["scope"] == scope
    assert first.calls > 1
    assert first.cost + second.cost <= Decimal("0.01")
    assert sum(run.prompt_tokens + run.completion_tokens for run in (first, second)) <= 2_600


@pytest.mark.parametrize("setting", ["session_max_tokens", "tenant_day_max_tokens", "tenant_month_max_tokens"])
def test_a_setting_that_was_left_out_for_a_while_counts_what_was_spent_meanwhile(tmp_path: Path, setting: str) -> None:
    database = fresh_sqlite(tmp_path / "turnwise.db")
    ends = []
    for limit in (10_000, None, 10_000):
        with desk_over(database, lambda: talking([]), **{setting: limit}) as serving:
            serving.sweep()
            ends.append(ended(serving, serving.submit("desk", session_id="s", turns=4 if limit else 30)))
    database.close()

    assert ends[0].prompt_tokens + ends[0].completion_tokens < 10_000
    assert [run.status_code for run in ends] == ["FIXED_TURNS", "FIXED_TURNS", "MAX_TOKENS"]
    assert ends[2].calls == 0


def test_a_run_that_waits_for_budget_goes_on_when_its_limit_is_raised(tmp_path: Path) -> None:
    sent: list[int] = []
    with desk(tmp_path, lambda: talking(sent)) as serving:
        run_id = serving.submit("desk", max_tokens=1_300, on_limit="wait", turns=6)
        serving.go_on(run_id)
        waiting = serving.store.inspector.run(run_id)
        assert waiting.status == "waiting"
        assert waiting.waiting_for is not None
        assert {name: kept(waiting.waiting_for)[name] for name in ("kind", "scope", "limit")} == {
            "kind": "budget",
            "scope": "run",
            "limit": "tokens",
        }
        before = len(sent)

        run, ask = serving.store.tenant(DEFAULT_TENANT).change_limits(run_id, max_tokens=100_000)
        assert ask is not None
        assert run.max_tokens == 100_000
        assert serving.responders.answer(permit(ask))
        done = ended(serving, run_id)
        assert "limits.changed" in serving.events(run_id)

    assert before == 1
    assert done.status_code == "FIXED_TURNS"


def other_call(tokens: int) -> ModelCall:
    def price(prompt: int, output: int) -> Amount:
        return Amount(prompt_tokens=prompt, output_tokens=output)

    return ModelCall(model="m", prompt=lambda: tokens, price=price)


def hold(serving: Desk, limits: ScopeLimits, tokens: int) -> Any:
    """Another run's call that is under way, and holds so many tokens of the tenant's."""
    run_id = serving.submit("desk")
    moved = serving.coordinator.move(run_id)
    assert moved.ask is not None
    worker = serving.responders._incarnation.current()
    assert worker is not None
    claim = serving.store.worker.claim(moved.ask.queue, worker)
    assert claim is not None
    assert isinstance(serving.store.worker.reserve(claim, 1, other_call(tokens), limits), Granted)
    return claim


def test_a_call_waits_for_what_others_hold_and_will_hardly_use(tmp_path: Path) -> None:
    sent: list[int] = []
    limits = ScopeLimits(tenant_day=(None, 5_000))
    with desk(tmp_path, lambda: talking(sent), tenant_day_max_tokens=5_000) as serving:
        held = hold(serving, limits, 4_950)
        run_id = serving.submit("desk", turns=1)
        serving.go_on(run_id)
        run = serving.store.inspector.run(run_id)
        assert run.status == "waiting"
        assert run.waiting_for is not None
        assert kept(run.waiting_for)["due_at"] - run.created_at < 60, "it looks again soon"

        serving.store.worker.release(held, "done")
        with serving.store.coordinator.locked(run_id) as transaction:
            ask = transaction.open_ask()
        assert ask is not None
        serving.store.clock.sleep(max(0.0, kept(run.waiting_for)["due_at"] - run.created_at))
        assert serving.responders.answer(permit(ask))
        assert ended(serving, run_id).status_code == "FIXED_TURNS"


def test_a_call_in_a_handler_waits_where_it_is(tmp_path: Path) -> None:
    sent: list[int] = []
    limits = ScopeLimits(tenant_day=(None, 50_000))
    with desk(tmp_path, lambda: consulting(sent), tenant_day_max_tokens=50_000, moves="coordinator") as serving:
        run_id = serving.submit("desk", turns=2)
        moved = serving.coordinator.move(run_id)
        assert serving.answer(moved)  # the boss's model
        moved = serving.coordinator.move(run_id)
        run = serving.store.inspector.run(run_id)
        held = hold(serving, limits, 50_000 - 50 - run.prompt_tokens - run.completion_tokens)
        handling = threading.Thread(target=serving.answer, args=(moved,))
        handling.start()
        handling.join(1.0)
        assert handling.is_alive()
        assert len(sent) == 1
        serving.store.worker.release(held, "done")
        handling.join(30)
        assert not handling.is_alive()
        assert len(sent) == 2


def test_a_call_in_a_handler_waits_for_as_long_as_it_takes(tmp_path: Path) -> None:
    limits, looks = ScopeLimits(tenant_day=(None, 50_000)), 1_100  # nine hours, with the pauses
    with desk(tmp_path, lambda: consulting([]), tenant_day_max_tokens=50_000, moves="coordinator") as serving:
        run_id = serving.submit("desk")
        assert serving.answer(serving.coordinator.move(run_id))  # the boss's model
        asked = serving.coordinator.move(run_id).ask
        worker = serving.responders._incarnation.current()
        assert asked is not None and worker is not None
        claim = serving.store.worker.claim(asked.queue, worker)
        assert claim is not None and claim.ask.responder == "agent"
        run = serving.store.inspector.run(run_id)
        held = hold(serving, limits, 50_000 - 50 - run.prompt_tokens - run.completion_tokens)

        gate = ServedGate(serving.store.worker, claim, Spending(limits=limits), Work())
        reserving = gate.reserving(other_call(100))
        look = next(reserving)
        for _ in range(looks):
            pause = reserving.send(look.sync())
            assert isinstance(pause.sync, partial) and 0 < pause.sync.args[0] <= 30
            look = reserving.send(None)
        serving.store.worker.release(held, "done")
        with pytest.raises(StopIteration) as reserved:
            reserving.send(look.sync())
        reserved.value.value.release()


def test_the_metrics_count_what_handlers_spend_as_the_run_does(tmp_path: Path) -> None:
    with desk(tmp_path, lambda: consulting([])) as serving:
        run = ended(serving, serving.submit("desk", turns=3))

        def counted(metric: Counter, **labels: str) -> float:
            samples = [
                one for family in metric.collect() for one in family.samples if labels.items() <= one.labels.items()
            ]
            return sum(one.value for one in samples if one.name.endswith("_total"))

        metrics = serving.metrics

    # Two of the boss and one of the expert, whom it asks between them.
    assert counted(metrics.llm_calls_total, outcome="ok") == run.calls == 3
    assert counted(metrics.tokens_total, type="prompt") == run.prompt_tokens
    assert counted(metrics.tokens_total, type="completion") == run.completion_tokens
    assert counted(metrics.cost_usd_total, task="desk") == pytest.approx(float(run.cost))


def test_the_gauges_show_what_a_call_holds_and_what_is_left_after_it(tmp_path: Path) -> None:
    seen: list[dict[str, float | None]] = []

    class Watched(Talker):
        def chat(self, *given: Any, **more: Any) -> LLMResponse:
            seen.append(gauges())
            return super().chat(*given, **more)

    def make() -> Task[Any]:
        task = talking([])
        task.agent.llm = Watched([])
        return task

    with desk(tmp_path, make, tenant_day_max_tokens=100_000) as serving:
        registry = CollectorRegistry()
        registry.register(RecordCollector(serving.store.monitor, max_age=0))

        def gauges() -> dict[str, float | None]:
            left = {
                scope: registry.get_sample_value("turnwise_budget_remaining_ratio", {"scope": scope})
                for scope in ("run", "session", "tenant_day", "tenant_month")
            }
            return left | {"held": registry.get_sample_value("turnwise_budget_reserved_usd")}

        before = gauges()
        run = ended(serving, serving.submit("desk", turns=3, max_cost=Decimal("0.02"), max_tokens=20_000))
        after = gauges()

    assert run.calls == len(seen) == 2
    assert before == {"run": None, "session": None, "tenant_day": None, "tenant_month": None, "held": 0}
    assert [show["held"] for show in seen] == pytest.approx([0.004, 0.004], rel=0.2)
    held, spent = seen[1]["held"], float(run.cost) / 2
    assert seen[1]["run"] == pytest.approx(1 - (spent + (held or 0)) / 0.02, abs=0.005)
    day = [show["tenant_day"] or 0 for show in (*seen, after)]
    assert 0.99 > day[0] > day[1] > 0.97
    # All that was put aside is settled: what is left is what was not used. A run that has ended has no share.
    assert day[2] == pytest.approx(1 - (run.prompt_tokens + run.completion_tokens) / 100_000)
    assert (after["run"], after["session"], after["tenant_month"], after["held"]) == (None, None, None, 0)


def test_a_tenant_s_own_limit_takes_the_place_of_the_setting(tmp_path: Path) -> None:
    sent: list[int] = []
    with desk(tmp_path, lambda: talking(sent), tenant_day_max_tokens=2_600) as serving:
        serving.store.operator().set_tenant_limits("free", TenantLimits(day_max_tokens=0))
        serving.store.operator().set_tenant_limits("small", TenantLimits(day_max_tokens=1_300))
        runs = {
            tenant: ended(serving, serving.submit("desk", tenant=tenant, turns=turns))
            for tenant, turns in (("free", 8), ("small", 100), ("usual", 100))
        }

    used = {tenant: run.prompt_tokens + run.completion_tokens for tenant, run in runs.items()}
    assert [runs[tenant].status_code for tenant in runs] == ["FIXED_TURNS", "MAX_TOKENS", "MAX_TOKENS"]
    assert used["small"] <= 1_300 < used["usual"] <= 2_600 < used["free"]


class Forward(SystemClock):
    """A process's clock, ahead by `seconds`."""

    seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.seconds


@pytest.mark.parametrize("first", [None, 1_000_000])
def test_a_limit_that_a_run_is_given_holds_for_a_handler_that_is_under_way(tmp_path: Path, first: int | None) -> None:
    sent: list[int] = []
    clock = Forward()
    store = Store(fresh_sqlite(tmp_path / "turnwise.db"), clock=clock)

    class Asking(Boss):
        def consult(self, _: Consult) -> str:
            for n in range(8):
                self.expert.run("again", turns=1)
                if n == 1:
                    store.tenant(DEFAULT_TENANT).change_limits(run_id, max_tokens=4_500)
                    clock.seconds += 1
            return "enough"

    def asking() -> Task[Any]:
        boss = Asking(ChatAgentConfig(name="Boss", llm=None))
        boss.llm = Talker(sent, '{"request": "consult"}')
        boss.enable_message(Consult)
        boss.expert = talking(sent)
        return Task(boss, interactive=False)

    app = App("tests")
    app.task(name="desk")(asking)
    with Desk(store, app) as served:
        run_id = served.submit("desk", max_tokens=first)
        run = ended(served, run_id)

    assert run.status_code == "MAX_TOKENS"
    # The limit includes what the handler had used before.
    assert 4_000 < run.prompt_tokens + run.completion_tokens <= 4_500
    store.core.database.close()
