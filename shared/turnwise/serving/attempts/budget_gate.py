"""The gate of a served run: its budgets are in the record, so calls in any process share them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TypeVar

from turnwise.base.backoff import backoff
from turnwise.base.cancellation import check_cancelled, pause
from turnwise.base.sync_async import Effect, Steps
from turnwise.base.waits import BudgetWait, DatabaseWait
from turnwise.errors import CallCancelledError, DatabaseUnavailableError
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall
from turnwise.models.budget.gate import Hold, as_usage
from turnwise.models.budget.wait import CallDeferred, Wait
from turnwise.models.limits.provider import ProviderWait
from turnwise.models.tokens.usage import NO_USAGE, LLMTokenUsage
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS, ScopeLimits, period_end
from turnwise.record.budgets.reservations import Answer, Stale, Take
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.tenants.tenant import NO_OWN_LIMITS, TenantLimits
from turnwise.record.values.outcomes import CallUsage, ProviderDown
from turnwise.record.values.records import Claim, Usage
from turnwise.serving.attempts.collecting import Collecting
from turnwise.serving.attempts.provider_places import ServedProviders
from turnwise.serving.attempts.work_times import Work

T = TypeVar("T")

# Seconds between two looks, while other calls under way hold what is missing: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.5, 30.0
# Seconds after which a call looks for limits that its run was given meanwhile: a handler may make many calls.
_LIMITS_SECONDS = 1.0
# How long a run that waits for more budget is left alone; who raises a limit wakes it.
_RECHECK = 3_600.0


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The limits that all runs of an installation share, and the treatment of those that reach one: end or wait.

    `on_outage` is what becomes of those whose provider does not answer: wait, or fail.
    """

    limits: ScopeLimits = NO_SCOPE_LIMITS
    providers: ServedProviders | None = None
    on_limit: str = "end"
    on_outage: str = "wait"

    def limits_of(self, own: TenantLimits) -> ScopeLimits:
        """Return what is allowed to runs of a tenant with limits of its own."""
        if own is NO_OWN_LIMITS or own == NO_OWN_LIMITS:
            return self.limits
        day, month = self.limits.tenant_day, self.limits.tenant_month
        return replace(
            self.limits,
            tenant_day=(_first(own.day_max_cost, day[0]), _first(own.day_max_tokens, day[1])),
            tenant_month=(_first(own.month_max_cost, month[0]), _first(own.month_max_tokens, month[1])),
        )


def _first(own: T | None, setting: T | None) -> T | None:
    return setting if own is None else own


class ServedGate:
    """The payer of the calls under one claim; safe to use from many threads.

    An ask of a model that has to wait is deferred (`CallDeferred`). A handler is not, because it would have to begin
    again: its calls wait where they are for other calls and for providers, and are refused where only more budget
    would help.
    """

    def __init__(
        self, store: WorkerRole, claim: Claim, spending: Spending, work: Work, collecting: Collecting | None = None
    ) -> None:
        self._store, self._claim, self._spending, self._work = store, claim, spending, work
        # With its limits as they were then.
        self._run, self._limits_read = claim.run, store.clock.monotonic()
        self._places = spending.providers.places(claim) if spending.providers is not None else None
        self._in_handler = claim.ask.responder != "llm"
        self.on_outage = spending.on_outage
        self._waits = (claim.run.on_limit or spending.on_limit) == "wait"
        self._lock = threading.Lock()
        self._last = 0
        # Calls that something was reserved for, by number; None for those under way.
        self._calls: dict[int, CallUsage | None] = {}
        self._held: dict[int, tuple[str, Amount]] = {}
        self._written: set[int] = set()
        # The others, by model and whether their price is known.
        self._plain: dict[tuple[str, bool], LLMTokenUsage] = {}
        # All that was used; its cost is unknown if that of one call is.
        self.used = NO_USAGE
        # The first call, if it can wait for a batch; and its usage, if a batch has answered it.
        self._collecting = collecting
        self._batched: CallUsage | None = None
        # The call that was made last, and when it began.
        self._call: ModelCall | None = None
        self._began = 0.0

    def calls(self) -> tuple[CallUsage, ...]:
        """All calls, for the record; those that are still under way as lost."""
        with self._lock:
            plain = [CallUsage(usage=usage_of(model, usage)) for (model, _), usage in self._plain.items()]
            batched = () if self._batched is None else (self._batched,)
            return (*batched, *plain, *(self._outcome(no) for no in self._calls))

    def reserving(self, call: ModelCall) -> Steps[Hold]:
        """Put room aside in the record, if a limit is in force.

        Raises `LimitReachedError`, `CallDeferred`, and `CallCancelledError` if the ask is another worker's by now.
        """
        collecting, self._collecting = self._collecting, None
        if collecting is not None and call.sent is not None:
            if collecting.response is not None:
                return _HeldByBatch(self, call, collecting)
            collecting.check_waiting()
            hold = yield from self._reserving(collecting.priced(call))
            self._work.end(hold.part, "collected")
            with self._lock:
                self._calls.pop(hold.no or 0, None)  # it stays reserved, and is not this claim's to settle
            raise collecting.collected(call, hold.max_tokens, hold.no)
        return (yield from self._reserving(call))

    def _reserving(self, call: ModelCall) -> Steps[_Held]:
        self._call = call
        take = self._take(call)
        known = self._store.remembered_limits(self._run.tenant)
        if (
            take is None
            and known is not None
            and not self._limits_are_old
            and not self._spending.limits_of(known).bind(self._run)
        ):
            return _Held(self, call, call.most)
        with self._lock:
            self._last += 1
            no = self._last
        looks = 0
        again = False
        while True:
            check_cancelled()
            reserve = partial(self._reserve, no, call, take, again)
            try:
                answer: Answer | None = yield Effect(sync=reserve, awaited=partial(asyncio.to_thread, reserve))
            except DatabaseUnavailableError:
                if not self._in_handler:  # nothing was called, so the ask can be released
                    raise
                again, answer = True, Wait(seconds=_LAST_LOOK, waiting_for=DatabaseWait())
            if answer is None:
                return _Held(self, call, call.most)
            if isinstance(answer, Granted):
                with self._lock:
                    self._calls[no], self._held[no] = None, (call.model, answer.amount)
                return _Held(self, call, answer.max_tokens, no)
            wait = self._wait(answer, looks)
            looks += 1
            seconds = min(wait.seconds, backoff(looks + 1, _FIRST_LOOK, _LAST_LOOK))
            part = self._work.begin(wait.waiting_for.kind, call.model)
            yield Effect(sync=partial(pause, seconds), awaited=partial(asyncio.sleep, seconds))
            self._work.end(part)

    def count(self, usage: LLMTokenUsage, model: str = "") -> None:
        """Count calls that nothing was reserved for."""
        self._note(model, usage)

    def unanswered(self, wait: Callable[[int], float]) -> tuple[ProviderWait, ProviderDown] | None:
        """The line of the provider that did not answer the last call, and that it did not; None where there is none.

        `wait` is that of `ProviderDown`.
        """
        call, target = self._call, self._call.target if self._call is not None else None
        if call is None or target is None or self._places is None:
            return None
        down = self._places.down(target.provider, wait, self._store.clock.monotonic() - self._began)
        return ProviderWait(target=target, tokens=call.likely_tokens if target.caps.any else 0), down

    def close(self) -> None:
        """The claim's work is over: no call follows."""
        if self._places is not None:
            self._places.close()

    @property
    def _limits_are_old(self) -> bool:
        return self._store.clock.monotonic() - self._limits_read >= _LIMITS_SECONDS

    def _take(self, call: ModelCall) -> Take | None:
        places = self._places
        if places is None or not places.bind(call):
            return None
        return lambda transaction, call, _granted: places.take(transaction, call)

    def _reserve(self, no: int, call: ModelCall, take: Take | None, again: bool) -> Answer | None:
        """Ask the record, None if no limit is in force; what is known of earlier calls is settled on the way."""
        if self._limits_are_old:
            read_at = self._store.clock.monotonic()
            self._run, self._limits_read = self._store.with_limits(self._run), read_at
        limits = self._spending.limits_of(self._store.tenant_limits(self._run.tenant))
        if take is None and not limits.bind(self._run):
            return None
        with self._lock:
            done = {n: made for n, made in self._calls.items() if made is not None and n not in self._written}
            uncounted = _sum(self._plain.values())
        answer = self._store.reserve(
            self._claim, no, call, limits, done=tuple(done.values()), uncounted=uncounted, take=take, again=again
        )
        with self._lock:
            self._written |= set(done)
        return answer

    def _wait(self, answer: BudgetRefusal | Wait | Stale, looks: int) -> Wait:
        """Return what a handler's call has to wait for; raises what else the answer means."""
        if isinstance(answer, Stale):
            raise CallCancelledError(
                "the call was not made: its work was given to another worker, or its run has ended"
            )
        if isinstance(answer, BudgetRefusal):
            answer = self._wait_for_budget(answer, looks)
        if not self._in_handler:
            raise CallDeferred(answer)
        return answer

    def _wait_for_budget(self, refusal: BudgetRefusal, looks: int) -> Wait:
        scope = refusal.budget.scope
        waiting_for = BudgetWait(scope=scope, limit=refusal.limit)
        if scope != "run" and refusal.temporary:
            # Other runs hold what is missing, and will hardly use all of it.
            times = max(looks, self._claim.ask.deferrals)
            return Wait(seconds=backoff(times + 1, _FIRST_LOOK, _LAST_LOOK), waiting_for=waiting_for)
        if not self._waits or self._in_handler or refusal.amount.cost is None:
            raise refusal.error(self)
        end = period_end((scope, refusal.budget.scope_id)) if scope != "run" else None
        asked_at = self._claim.ask.claimed_at or self._claim.ask.created_at
        return Wait(
            seconds=_RECHECK if end is None else min(_RECHECK, max(1.0, end - asked_at)), waiting_for=waiting_for
        )

    def _note(self, model: str, usage: LLMTokenUsage, no: int | None = None, *, lost: bool = False) -> None:
        with self._lock:
            self.used = self.used.plus(usage)
            if no is not None:
                self._calls[no] = CallUsage(usage=usage_of(model, usage), call_no=no, lost=lost)
                return
            key = (model, usage.cost is None)
            before = self._plain.get(key)
            self._plain[key] = usage if before is None else before.plus(usage)

    def _note_batched(self, usage: LLMTokenUsage, kept: Usage) -> None:
        with self._lock:
            self.used = self.used.plus(usage)
            self._batched = CallUsage(usage=kept, collected=True)

    def _nothing_used(self, no: int | None) -> None:
        if no is not None:
            with self._lock:
                model, _ = self._held[no]
                self._calls[no] = CallUsage(usage=Usage(calls=0, cost=Decimal(0), model=model), call_no=no)

    def _lost(self, no: int | None) -> None:
        if no is not None:  # without a limit nothing was reserved, and no one knows what was lost
            model, amount = self._held[no]
            self._note(model, as_usage(amount), no, lost=True)

    def _outcome(self, no: int) -> CallUsage:
        made = self._calls[no]
        if made is not None:
            return made
        model, amount = self._held[no]
        return CallUsage(usage=usage_of(model, as_usage(amount)), call_no=no, lost=True)


class _Held:
    def __init__(self, gate: ServedGate, call: ModelCall, max_tokens: int, no: int | None = None) -> None:
        self.max_tokens = max_tokens
        self._gate, self._call, self.no = gate, call, no
        self.part = gate._work.begin("model", call.model)
        gate._began = gate._store.clock.monotonic()

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        self._gate._work.end(self.part)
        self._gate._note(self._call.model, usage, self.no)
        if (places := self._gate._places) is not None:
            places.settled(self._call, usage.total_tokens, announced)

    def refused(self, announced: RateLimits | None) -> None:
        self._gate._work.end(self.part, "rate_limited")
        self._gate._nothing_used(self.no)
        if (places := self._gate._places) is not None:
            places.refused(self._call, announced)

    def lost(self, *, answered: bool = False) -> None:
        self._gate._work.end(self.part, "failed")
        self._gate._lost(self.no)
        if (places := self._gate._places) is not None:
            places.settled(self._call, self._call.likely_tokens, None, answered=answered)

    def release(self, *, answered: bool = False) -> None:
        self._gate._work.end(self.part, "failed")
        self._gate._nothing_used(self.no)
        if (places := self._gate._places) is not None:
            places.released(self._call, answered=answered)


class _HeldByBatch:
    """Room for a call that a batch has answered: an earlier claim has reserved it."""

    def __init__(self, gate: ServedGate, call: ModelCall, collecting: Collecting) -> None:
        self.max_tokens = call.most
        self._gate, self._call, self._kept = gate, call, collecting.usage()

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        self._gate._note_batched(usage, usage_of(self._call.model, usage))

    def refused(self, announced: RateLimits | None) -> None:
        self._spent()

    def lost(self, *, answered: bool = False) -> None:
        self._spent()

    def release(self, *, answered: bool = False) -> None:
        self._spent()

    def _spent(self) -> None:
        """Count the response, which cannot be used: the provider has answered, whatever was made of it."""
        kept = replace(self._kept, model=self._call.model or None)
        self._gate._note_batched(as_usage(Amount.of(kept)), kept)


def _sum(used: Iterable[LLMTokenUsage]) -> Amount:
    """Return what was used, as budgets count it; calls without a known price add nothing to the cost."""
    amounts = [Amount.of(usage) for usage in used]
    return Amount(
        prompt_tokens=sum(amount.prompt_tokens for amount in amounts),
        output_tokens=sum(amount.output_tokens for amount in amounts),
        cost=sum((amount.cost or Decimal(0) for amount in amounts), Decimal(0)),
    )


def usage_of(model: str, usage: LLMTokenUsage) -> Usage:
    """Return what calls of a model used, for the record."""
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        calls=usage.calls,
        cost=usage.cost,
        model=model or None,
        doubt=usage.doubt,
    )
