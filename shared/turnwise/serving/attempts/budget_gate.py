"""The gate of a served run: its budgets are in the record, so calls in any process share them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from turnwise.base.backoff import backoff
from turnwise.base.cancellation import check_cancelled, pause
from turnwise.base.sync_async import Effect, Steps
from turnwise.base.waits import BudgetWait, DatabaseWait
from turnwise.errors import CallCancelledError, DatabaseUnavailableError
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall
from turnwise.models.budget.gate import Hold
from turnwise.models.budget.wait import CallDeferred, Wait
from turnwise.models.limits.provider import ProviderWait
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS, ScopeLimits, period_end
from turnwise.record.budgets.reservations import Answer, Stale, Take
from turnwise.record.budgets.waiting_calls import LONGEST_LOOK
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.tenants.tenant import NO_OWN_LIMITS, TenantLimits
from turnwise.record.values.outcomes import CallUsage, ProviderDown
from turnwise.record.values.records import Claim
from turnwise.serving.attempts.call_tally import CallTally
from turnwise.serving.attempts.collecting import Collecting
from turnwise.serving.attempts.provider_places import ServedProviders
from turnwise.serving.attempts.served_holds import BatchedHold, ServedHold
from turnwise.serving.attempts.work_times import Part, Work

T = TypeVar("T")

# Seconds between two looks, while other calls under way hold what is missing: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.5, LONGEST_LOOK
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

    An ask of a model whose first call has to wait is deferred (`CallDeferred`). A handler is not, because it would have
    to begin again, and neither is an ask that has made a call, which would be made and paid again. Such calls wait in
    place for other calls and for providers, and are refused where only more budget would help. `on_outage` is what
    calls do while their provider does not answer, if their own policy does not say: wait, or fail.
    """

    def __init__(
        self, store: WorkerRole, claim: Claim, spending: Spending, work: Work, collecting: Collecting | None = None
    ) -> None:
        self._store, self._claim, self._spending, self._work = store, claim, spending, work
        # With its limits as they were then.
        self._run, self._limits_read = claim.run, store.clock.monotonic()
        self._places = spending.providers.places(claim) if spending.providers is not None else None
        # True where another attempt would do again what this one has done.
        self._waits_in_place = claim.ask.responder != "llm"
        self.on_outage = spending.on_outage
        self._waits = (claim.run.on_limit or spending.on_limit) == "wait"
        self._tally = CallTally()
        # The first call, if it can wait for a batch.
        self._collecting = collecting
        # The call that was made last, and its part of the work.
        self._made: tuple[ModelCall, Part] | None = None

    @property
    def used(self) -> LLMTokenUsage:
        """All that was used; its cost is unknown if that of one call is."""
        return self._tally.used

    def calls(self) -> tuple[CallUsage, ...]:
        """All calls, for the record; those that are still under way as lost."""
        return self._tally.calls()

    def reserving(self, call: ModelCall) -> Steps[Hold]:
        """Put room aside in the record, if a limit is in force.

        Raises `LimitReachedError`, `CallDeferred`, and `CallCancelledError` if the ask is another worker's by now.
        """
        collecting, self._collecting = self._collecting, None
        if collecting is not None and call.sent is not None:
            if collecting.response is not None:
                self._waits_in_place = True
                return BatchedHold(self._tally, call, collecting)
            collecting.check_waiting()
            hold = yield from self._reserving(collecting.priced(call))
            self._work.end(hold.part, "collected")
            self._tally.forget(hold.no)
            raise collecting.collected(call, hold.max_tokens, hold.no)
        return (yield from self._reserving(call))

    def _reserving(self, call: ModelCall) -> Steps[ServedHold]:
        take = self._take(call)
        known = self._store.remembered_limits(self._run.tenant)
        if (
            take is None
            and known is not None
            and not self._limits_are_old
            and not self._spending.limits_of(known).bind(self._run)
        ):
            return self._hold(call, call.most)
        no = self._tally.next_no()
        looks = 0
        again = False
        while True:
            check_cancelled()
            reserve = partial(self._reserve, no, call, take, again)
            try:
                answer: Answer | None = yield Effect(sync=reserve, awaited=partial(asyncio.to_thread, reserve))
            except DatabaseUnavailableError:
                if not self._waits_in_place:  # nothing was called, so the ask can be released
                    raise
                again, answer = True, Wait(seconds=_LAST_LOOK, waiting_for=DatabaseWait())
            if answer is None:
                return self._hold(call, call.most)
            if isinstance(answer, Granted):
                self._tally.reserved(no, call.model, answer.amount)
                return self._hold(call, answer.max_tokens, no)
            wait = self._wait(answer, looks)
            looks += 1
            seconds = min(wait.seconds, backoff(looks + 1, _FIRST_LOOK, _LAST_LOOK))
            part = self._work.begin(wait.waiting_for.kind, call.model)
            yield Effect(sync=partial(pause, seconds), awaited=partial(asyncio.sleep, seconds))
            self._work.end(part)

    def count(self, usage: LLMTokenUsage, model: str = "") -> None:
        """Count calls that nothing was reserved for."""
        self._tally.note(model, usage)

    def unanswered(self, wait: Callable[[int], float]) -> tuple[ProviderWait, ProviderDown] | None:
        """The line of the provider that did not answer the last call, and that it did not; None where there is none.

        `wait` is that of `ProviderDown`.
        """
        if self._made is None or self._places is None:
            return None
        call, part = self._made
        target = call.target
        if target is None:
            return None
        down = self._places.down(target.provider, wait, self._work.since(part))
        return ProviderWait(target=target, tokens=call.likely_tokens if target.caps.any else 0), down

    def close(self) -> None:
        """The claim's work is over: no call follows."""
        if self._places is not None:
            self._places.close()

    def _hold(self, call: ModelCall, max_tokens: int, no: int | None = None) -> ServedHold:
        hold = ServedHold(self._tally, self._places, self._work, call, max_tokens, no)
        self._made, self._waits_in_place = (call, hold.part), True
        return hold

    @property
    def _limits_are_old(self) -> bool:
        return self._store.clock.monotonic() - self._limits_read >= _LIMITS_SECONDS

    def _take(self, call: ModelCall) -> Take | None:
        places = self._places
        if places is None or not places.bind(call):
            return None
        return lambda transaction, call, _granted: places.take(transaction, call, in_place=self._waits_in_place)

    def _reserve(self, no: int, call: ModelCall, take: Take | None, again: bool) -> Answer | None:
        """Ask the record, None if no limit is in force; what is known of earlier calls is settled on the way."""
        if self._limits_are_old:
            read_at = self._store.clock.monotonic()
            self._run, self._limits_read = self._store.with_limits(self._run), read_at
        limits = self._spending.limits_of(self._store.tenant_limits(self._run.tenant))
        if take is None and not limits.bind(self._run):
            return None
        done, uncounted = self._tally.unsettled()
        answer = self._store.reserve(
            self._claim, no, call, limits, done=tuple(done.values()), uncounted=uncounted, take=take, again=again
        )
        self._tally.written(done)
        return answer

    def _wait(self, answer: BudgetRefusal | Wait | Stale, looks: int) -> Wait:
        """Return what the call has to wait for in place; raises what else the answer means."""
        if isinstance(answer, Stale):
            raise CallCancelledError(
                "the call was not made: its work was given to another worker, or its run has ended"
            )
        if isinstance(answer, BudgetRefusal):
            answer = self._wait_for_budget(answer, looks)
        if not self._waits_in_place:
            raise CallDeferred(answer)
        return answer

    def _wait_for_budget(self, refusal: BudgetRefusal, looks: int) -> Wait:
        scope = refusal.budget.scope
        waiting_for = BudgetWait(scope=scope, limit=refusal.limit)
        if scope != "run" and refusal.temporary:
            # Other runs hold what is missing, and will hardly use all of it.
            times = max(looks, self._claim.ask.deferrals)
            return Wait(seconds=backoff(times + 1, _FIRST_LOOK, _LAST_LOOK), waiting_for=waiting_for)
        if not self._waits or self._waits_in_place or refusal.amount.cost is None:
            raise refusal.error(self)
        end = period_end((scope, refusal.budget.scope_id)) if scope != "run" else None
        asked_at = self._claim.ask.claimed_at or self._claim.ask.created_at
        return Wait(
            seconds=_RECHECK if end is None else min(_RECHECK, max(1.0, end - asked_at)), waiting_for=waiting_for
        )
