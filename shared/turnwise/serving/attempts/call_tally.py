"""The tally of the calls under one claim: what was reserved for them, and what they used."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from decimal import Decimal

from turnwise.models.budget.budget import Amount
from turnwise.models.budget.gate import as_usage
from turnwise.models.tokens.usage import NO_USAGE, LLMTokenUsage
from turnwise.record.values.outcomes import CallUsage
from turnwise.record.values.records import Usage


class CallTally:
    """Counts calls, each with its number if something was reserved for it; safe to use from many threads."""

    def __init__(self) -> None:
        # All that was used; its cost is unknown if that of one call is.
        self.used = NO_USAGE
        self._lock = threading.Lock()
        self._last = 0
        # Calls that something was reserved for, by number; None for those under way.
        self._calls: dict[int, CallUsage | None] = {}
        self._held: dict[int, tuple[str, Amount]] = {}
        self._written: set[int] = set()
        # The others, by model and whether their price is known.
        self._plain: dict[tuple[str, bool], LLMTokenUsage] = {}
        # The usage of the first call, if a batch has answered it.
        self._batched: CallUsage | None = None

    def next_no(self) -> int:
        """Return a number for a call that something is to be reserved for."""
        with self._lock:
            self._last += 1
            return self._last

    def reserved(self, no: int, model: str, amount: Amount) -> None:
        """The call is under way, with so much reserved."""
        with self._lock:
            self._calls[no], self._held[no] = None, (model, amount)

    def forget(self, no: int | None) -> None:
        """Leave the reservation of a call that is not made here: another claim settles it."""
        with self._lock:
            self._calls.pop(no or 0, None)

    def note(self, model: str, usage: LLMTokenUsage, no: int | None = None, *, lost: bool = False) -> None:
        """Count what a call used; `no` is None if nothing was reserved for it."""
        with self._lock:
            self.used = self.used.plus(usage)
            if no is not None:
                self._calls[no] = CallUsage(usage=usage_of(model, usage), call_no=no, lost=lost)
                return
            key = (model, usage.cost is None)
            before = self._plain.get(key)
            self._plain[key] = usage if before is None else before.plus(usage)

    def note_batched(self, usage: LLMTokenUsage, kept: Usage) -> None:
        """Count what a call used that a batch has answered; `kept` is the same for the record."""
        with self._lock:
            self.used = self.used.plus(usage)
            self._batched = CallUsage(usage=kept, collected=True)

    def nothing_used(self, no: int | None) -> None:
        """The call used nothing."""
        if no is not None:
            with self._lock:
                model, _ = self._held[no]
                self._calls[no] = CallUsage(usage=Usage(calls=0, cost=Decimal(0), model=model), call_no=no)

    def lost(self, no: int | None) -> None:
        """Count all that was reserved for the call as used."""
        if no is not None:  # without a limit nothing was reserved, and no one knows what was lost
            model, amount = self._held[no]
            self.note(model, as_usage(amount), no, lost=True)

    def calls(self) -> tuple[CallUsage, ...]:
        """All calls, for the record; those that are still under way as lost."""
        with self._lock:
            plain = [CallUsage(usage=usage_of(model, usage)) for (model, _), usage in self._plain.items()]
            batched = () if self._batched is None else (self._batched,)
            return (*batched, *plain, *(self._outcome(no) for no in self._calls))

    def unsettled(self) -> tuple[dict[int, CallUsage], Amount]:
        """Return the calls that are over and not yet settled on record, by number, and the sum of the others."""
        with self._lock:
            done = {no: made for no, made in self._calls.items() if made is not None and no not in self._written}
            return done, _sum(self._plain.values())

    def written(self, done: Iterable[int]) -> None:
        """The calls with these numbers are settled on record."""
        with self._lock:
            self._written |= set(done)

    def _outcome(self, no: int) -> CallUsage:
        made = self._calls[no]
        if made is not None:
            return made
        model, amount = self._held[no]
        return CallUsage(usage=usage_of(model, as_usage(amount)), call_no=no, lost=True)


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


def _sum(used: Iterable[LLMTokenUsage]) -> Amount:
    """Return what was used, as budgets count it; calls without a known price add nothing to the cost."""
    amounts = [Amount.of(usage) for usage in used]
    return Amount(
        prompt_tokens=sum(amount.prompt_tokens for amount in amounts),
        output_tokens=sum(amount.output_tokens for amount in amounts),
        cost=sum((amount.cost or Decimal(0) for amount in amounts), Decimal(0)),
    )
