"""Any order of calls, losses, late reports, raised limits and ends of runs overspends nothing, and the books add up."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.support.property_settings import examples
from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.models.budget.budget import Amount, Budget
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall
from turnwise.record.budgets.budgets import ScopeLimits, own_budget
from turnwise.record.budgets.reservations import Stale
from turnwise.record.database.budget_tables import budgets
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.values.outcomes import CallUsage, Reply
from turnwise.record.values.records import Claim, Usage

IN, OUT = Decimal("0.001"), Decimal("0.002")
LIMITS = ScopeLimits(session=(Decimal(2), 2_500), tenant_day=(None, 4_000), tenant_month=(Decimal(4), None))
PICK = st.integers(0, 1_000)
Sums = tuple[Decimal, int, Decimal, int]


def priced(prompt_tokens: int, output_tokens: int) -> Amount:
    cost = IN * prompt_tokens + OUT * output_tokens
    return Amount(prompt_tokens=prompt_tokens, output_tokens=output_tokens, cost=cost)


@dataclass
class Call:
    """The reservation of a call, and what is counted for it: None while it is held, all of it if it is lost."""

    held: Amount
    counted: Amount | None = None
    lost: bool = False

    def count(self, used: Amount, *, lost: bool) -> None:
        if self.counted is None or (self.lost and not lost):
            self.counted, self.lost = used, lost


@dataclass
class Holder:
    """A claim and its calls by number; `current` until it is answered, given back, lost, or its run has ended."""

    claim: Claim
    calls: dict[int, Call] = field(default_factory=dict)
    current: bool = True
    replied: bool = False

    def report(self, seed: int) -> tuple[CallUsage, ...]:
        """What it says of its calls, each some part of what it was granted or lost; counted in this account, too."""
        said = []
        for no, call in self.calls.items():
            lost, part = (seed + no) % 5 == 0, Decimal((seed + 3 * no) % 8) / 7
            used = (
                call.held if lost else priced(int(call.held.prompt_tokens * part), int(call.held.output_tokens * part))
            )
            call.count(used, lost=lost)
            usage = Usage(prompt_tokens=used.prompt_tokens, completion_tokens=used.output_tokens, cost=used.cost)
            said.append(CallUsage(usage=usage, call_no=no, lost=lost))
        return tuple(said)

    def lose(self) -> None:
        self.current = False
        for call in self.calls.values():
            call.count(call.held, lost=True)


class Ledger(RuleBasedStateMachine):
    """The record beside a plain account of the same calls; two sessions of one tenant."""

    store: ClassVar[Store]

    def __init__(self) -> None:
        super().__init__()
        self.tenant = new_id("tenant")
        self.holders: list[Holder] = []

    def current(self) -> list[Holder]:
        return [holder for holder in self.holders if holder.current]

    def late(self) -> list[Holder]:
        return [holder for holder in self.holders if not holder.current and not holder.replied]

    def claim(self, queue: str) -> None:
        claim = self.store.worker.claim(queue, new_worker(self.store, queue))
        assert claim is not None
        self.holders.append(Holder(claim))

    @rule(
        session=st.sampled_from(["one", "two"]),
        max_cost=st.none() | st.sampled_from([Decimal("0.5"), Decimal(1)]),
        max_tokens=st.none() | st.integers(100, 1_500),
    )
    def begin(self, session: str, max_cost: Decimal | None, max_tokens: int | None) -> None:
        queue = new_queue()
        run = {"tenant": self.tenant, "session_id": session, "max_cost": max_cost, "max_tokens": max_tokens}
        asked_run(self.store, queue, run=run, max_attempts=1_000)
        self.claim(queue)

    @precondition(lambda self: self.current())
    @rule(pick=PICK, prompt=st.integers(0, 300), least=st.integers(0, 100), more=st.integers(0, 400), seed=PICK)
    def reserve(self, pick: int, prompt: int, least: int, more: int, seed: int) -> None:
        holder = self.current()[pick % len(self.current())]
        call = ModelCall(model="m", prompt=lambda: prompt, price=priced, least=least, most=least + more)
        no = len(holder.calls) + 1
        while True:
            done = holder.report(seed) if seed % 2 else ()
            answer = self.store.worker.reserve(holder.claim, no, call, LIMITS, done=done)
            if isinstance(answer, Granted):
                holder.calls[no] = Call(answer.amount)
                return
            assert isinstance(answer, BudgetRefusal)
            assert answer.budget.lacks(call.amount(least)) == answer.limit
            if seed % 2:
                return
            seed += 1  # it tells what earlier calls used, and tries again

    @precondition(lambda self: self.current())
    @rule(pick=PICK, seed=PICK)
    def answer(self, pick: int, seed: int) -> None:
        holder = self.current()[pick % len(self.current())]
        assert self.store.worker.reply(holder.claim, Reply(kind="answer", calls=holder.report(seed)))
        holder.current, holder.replied = False, True

    @precondition(lambda self: self.current())
    @rule(pick=PICK, seed=PICK)
    def give_back(self, pick: int, seed: int) -> None:
        holder = self.current()[pick % len(self.current())]
        assert self.store.worker.release(holder.claim, "a test", calls=holder.report(seed))
        holder.current = False
        self.claim(str(holder.claim.ask.queue))

    @precondition(lambda self: self.current())
    @rule(pick=PICK)
    def take_over(self, pick: int) -> None:
        holder = self.current()[pick % len(self.current())]
        self.store.process.retire_worker(holder.claim.worker_id)
        assert holder.claim.ask.id in [ask.id for ask in self.store.coordinator.expire_leases()]
        holder.lose()
        self.claim(str(holder.claim.ask.queue))
        assert isinstance(self.store.worker.reserve(holder.claim, 1_000, call_of(1), LIMITS), Stale)

    @precondition(lambda self: self.late())
    @rule(pick=PICK, seed=PICK)
    def report_late(self, pick: int, seed: int) -> None:
        holder = self.late()[pick % len(self.late())]
        assert not self.store.worker.reply(holder.claim, Reply(kind="answer", calls=holder.report(seed)))
        holder.replied = True

    @precondition(lambda self: self.current())
    @rule(pick=PICK, cost=st.none() | st.integers(0, 3), tokens=st.none() | st.integers(0, 3_000))
    def raise_limits(self, pick: int, cost: int | None, tokens: int | None) -> None:
        run = self.store.inspector.run(self.current()[pick % len(self.current())].claim.run.id)
        self.store.tenant(self.tenant).change_limits(
            run.id,
            max_cost=None if cost is None or run.max_cost is None else run.max_cost + cost,
            max_tokens=None if tokens is None or run.max_tokens is None else run.max_tokens + tokens,
        )

    @precondition(lambda self: self.current())
    @rule(pick=PICK, worker_dies=st.booleans())
    def end_run(self, pick: int, worker_dies: bool) -> None:
        holder = self.current()[pick % len(self.current())]
        with self.store.coordinator.locked(holder.claim.run.id) as transaction:
            transaction.finish(RunStatus.CANCELLED, "KILL")
        holder.current = False
        assert isinstance(self.store.worker.reserve(holder.claim, 1_000, call_of(1), LIMITS), Stale)
        if worker_dies:
            self.store.process.retire_worker(holder.claim.worker_id)
            self.store.coordinator.expire_leases()
            holder.lose()

    @invariant()
    def nothing_is_overspent_and_all_adds_up(self) -> None:
        for holder in self.holders:
            run = self.store.inspector.run(holder.claim.run.id)
            own = [other for other in self.holders if other.claim.run.id == run.id]
            within(own_budget(run), self.expected(own))
        with self.store.database.read() as connection:
            rows = connection.execute(budgets.select()).all()
        for row in rows:
            paid = [holder for holder in self.holders if row.scope_id in self.keys(holder)]
            if paid:
                within(
                    Budget(
                        scope=row.scope,
                        max_cost=LIMITS.of(row.scope)[0],
                        max_tokens=LIMITS.of(row.scope)[1],
                        spent_cost=row.spent_cost,
                        spent_tokens=row.spent_tokens,
                        reserved_cost=row.reserved_cost,
                        reserved_tokens=row.reserved_tokens,
                    ),
                    self.expected(paid),
                )

    def keys(self, holder: Holder) -> list[str]:
        run = holder.claim.run
        return [id for _, id in LIMITS.keys(run, run.created_at)]

    def expected(self, holders: list[Holder]) -> Sums:
        calls = [call for holder in holders for call in holder.calls.values()]
        spent = [call.counted for call in calls if call.counted is not None]
        held = [call.held for call in calls if call.counted is None]
        return (*total(spent), *total(held))


def call_of(tokens: int) -> ModelCall:
    return ModelCall(model="m", prompt=lambda: tokens, price=priced)


def total(amounts: list[Amount]) -> tuple[Decimal, int]:
    return sum((amount.cost or Decimal(0) for amount in amounts), Decimal(0)), sum(a.tokens for a in amounts)


def within(budget: Budget, expected: Sums) -> None:
    assert (budget.spent_cost, budget.spent_tokens, budget.reserved_cost, budget.reserved_tokens) == expected
    assert all(part >= 0 for part in expected)
    assert (budget.cost_left or Decimal(0)) >= 0
    assert (budget.tokens_left or 0) >= 0


def test_no_order_of_events_overspends_a_budget_or_loses_count(store: Store) -> None:
    machine = type("LedgerOfStore", (Ledger,), {"store": store})

    run_state_machine_as_test(machine, settings=settings(examples(12), stateful_step_count=25))
