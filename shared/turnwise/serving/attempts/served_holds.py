"""Room for the calls under one claim: what becomes of it is told to the tally, the provider's places and the times."""

from __future__ import annotations

from dataclasses import replace

from turnwise.errors.rate_limits import RateLimits
from turnwise.models.budget.budget import NOTHING, Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import as_usage
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.serving.attempts.call_tally import CallTally, usage_of
from turnwise.serving.attempts.collecting import Collecting
from turnwise.serving.attempts.provider_places import Places
from turnwise.serving.attempts.work_times import Work


class ServedHold:
    """Room for a call that begins now; `no` is its number if something was reserved for it."""

    def __init__(
        self,
        tally: CallTally,
        places: Places | None,
        work: Work,
        call: ModelCall,
        max_tokens: int,
        no: int | None = None,
    ) -> None:
        self.max_tokens, self.no = max_tokens, no
        self._tally, self._places, self._work, self._call = tally, places, work, call
        self.part = work.begin("model", call.model)

    def charged(self, most: LLMTokenUsage) -> LLMTokenUsage:
        return most

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        self._work.end(self.part)
        self._tally.note(self._call.model, usage, self.no)
        if self._places is not None:
            self._places.settled(self._call, usage.total_tokens, announced)

    def refused(self, announced: RateLimits | None) -> None:
        self._work.end(self.part, "rate_limited")
        self._tally.nothing_used(self.no)
        if self._places is not None:
            self._places.refused(self._call, announced)

    def lost(self, *, answered: bool = False) -> None:
        self._work.end(self.part, "failed")
        self._tally.lost(self.no)
        if self._places is not None:
            self._places.settled(self._call, self._call.likely_tokens, None, answered=answered)

    def release(self, *, answered: bool = False) -> None:
        self._work.end(self.part, "failed")
        self._tally.nothing_used(self.no)
        if self._places is not None:
            self._places.released(self._call, answered=answered)


class BatchedHold:
    """Room for a call that a batch has answered: an earlier claim has reserved it."""

    def __init__(self, tally: CallTally, call: ModelCall, collecting: Collecting) -> None:
        self.max_tokens = call.most
        self._tally, self._call, self._kept = tally, collecting.priced(call), collecting.usage()

    def charged(self, most: LLMTokenUsage) -> LLMTokenUsage:
        """Return what was reserved at the price of a batch, which the record has kept as the usage.

        Without a limit nothing was, and the call had the longest answer to itself.
        """
        reserved = Amount.of(self._kept) if self._kept.doubt else NOTHING
        return as_usage(reserved if reserved.tokens else self._call.amount(self.max_tokens))

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        self._tally.note_batched(usage, usage_of(self._call.model, usage))

    def refused(self, announced: RateLimits | None) -> None:
        self._spent()

    def lost(self, *, answered: bool = False) -> None:
        self._spent()

    def release(self, *, answered: bool = False) -> None:
        self._spent()

    def _spent(self) -> None:
        """Count the response, which cannot be used: the provider has answered, whatever was made of it."""
        kept = replace(self._kept, model=self._call.model or None)
        self._tally.note_batched(as_usage(Amount.of(kept)), kept)
