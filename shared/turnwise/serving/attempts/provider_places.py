"""Places with providers for the calls of served runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from turnwise.base.waits import OutageWait, ProviderLimitWait
from turnwise.errors import DatabaseUnavailableError
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.wait import Wait
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Room
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import ProviderDown
from turnwise.record.values.records import Claim, ProviderPlace

logger = logging.getLogger(__name__)

# Called with a claim whose call gave room back to a provider, named by its bucket.
OnRoom = Callable[[Claim, str], None]
# Seconds for which no one asks the record again about a provider without limits.
_TRUSTED = 10.0


class ServedProviders:
    """One process's knowledge of its providers; the limits themselves are in the record, shared by all workers.

    Safe to use from many threads. A provider of which nothing is known costs a look at the record now and then.
    """

    def __init__(self, store: WorkerRole, on_room: OnRoom | None = None) -> None:
        self.store = store
        self.on_room = on_room
        self._lock = threading.Lock()
        self._known: set[Provider] = set()
        self._asked: dict[Provider, float] = {}
        # Those of which failed calls are on record, as far as this process knows, and that it has not heard since.
        self._failing: set[Provider] = set()
        self._answered: dict[Provider, float] = {}

    def places(self, claim: Claim) -> Places:
        """For the calls under one claim."""
        return Places(self, claim)

    def limits(self, target: Target) -> bool:
        """Return whether a limit may hold for the target, or it may be away; raises `DatabaseUnavailableError`."""
        provider = target.provider
        if target.caps.any:
            return True
        now = self.store.clock.monotonic()
        with self._lock:
            asked = self._asked.get(provider)
            if asked is not None:
                if now - asked < _TRUSTED:
                    return provider in self._known
                self._asked[provider] = now  # one looks again, the others go by what he saw before
        # Until someone has seen the record, everybody looks: nothing is known of a probe that continues.
        known = self.store.provider_known(provider)
        with self._lock:
            self._asked[provider] = now
            # What was known may be over: a provider that was away is back, and has no limits.
            (self._known.add if known else self._known.discard)(provider)
            (self._failing.add if known == "outage" else self._failing.discard)(provider)
        return known is not None

    def know(self, provider: Provider) -> None:
        """Something is on record of the provider."""
        with self._lock:
            self._known.add(provider)
            self._asked[provider] = self.store.clock.monotonic()

    def failing(self, provider: Provider) -> None:
        """A failed call of the provider is on record, or about to be."""
        with self._lock:
            self._failing.add(provider)
        self.know(provider)

    def answered(self, provider: Provider) -> bool:
        """Note that a call was answered, however it was made, and return whether the record is to be told of it."""
        with self._lock:
            self._answered[provider] = self.store.clock.monotonic()
            failing = provider in self._failing
            self._failing.discard(provider)
        return failing

    def answered_ago(self, provider: Provider) -> float | None:
        """Seconds since this process saw an answer of the provider; None if it never did."""
        with self._lock:
            at = self._answered.get(provider)
        return None if at is None else self.store.clock.monotonic() - at


class Places:
    """The places that the calls of one claim take and release.

    A place released while the database is away counts until it has left the window by itself.
    """

    def __init__(self, providers: ServedProviders, claim: Claim) -> None:
        self._providers, self._store, self._claim = providers, providers.store, claim
        # Taken with the claim, for its first call.
        self._waiting: ProviderPlace | None = claim.place
        self._lock = threading.Lock()
        self._last = 0
        self._held: dict[int, ProviderPlace] = {}
        # True once a call of this claim has probed a provider that was away.
        self.probed = claim.place is not None and claim.place.probes

    def bind(self, call: ModelCall) -> bool:
        """Return whether the call has to take a place; one that came with the claim is its own at once."""
        target = call.target
        if target is None:
            return False
        with self._lock:
            if self._waiting is not None and self._waiting.bucket == target.provider.id:
                held, self._waiting = self._waiting, None
                self._held[id(call)] = held
                if held.probes:
                    self._providers.failing(target.provider)
                return False
        return self._providers.limits(target)

    def take(self, transaction: RunTransaction, call: ModelCall, *, in_place: bool) -> Wait | None:
        """Take a place in the transaction that puts room aside, after all its other locks; or what to wait for.

        `in_place`: the call waits in its worker.
        """
        target = call.target
        assert target is not None, "only calls that a limit binds take a place"
        with self._lock:
            self._last += 1
            no = str(self._last)
        tokens = call.likely_tokens
        taken = self._store.take_place(transaction.connection, self._claim, target, tokens, no, in_place=in_place)
        if taken.limit == "outage" if isinstance(taken, Room) else taken.probes:
            self._providers.failing(target.provider)
        if isinstance(taken, Room):
            model, server = target.provider.model, target.provider.server
            limited = ProviderLimitWait(model=model, limit=taken.limit)
            return Wait(
                seconds=max(0.0, taken.at - transaction.now),
                waiting_for=OutageWait(model=model, server=server) if taken.limit == "outage" else limited,
                provider=ProviderWait(target=target, tokens=tokens),
            )
        with self._lock:
            self._held[id(call)] = taken
            self.probed = taken.probes or self.probed
        return None

    def settled(self, call: ModelCall, tokens: int, announced: RateLimits | None, *, answered: bool = True) -> None:
        """The call was `answered`, or no one knows what became of it."""
        held, target = self._pop(call), call.target
        if target is None:
            return

        def write() -> None:
            if held is not None:
                self._store.settle_place(self._claim, held, tokens, announced, answered=answered)
            elif announced is not None:
                self._store.learn_limits(target, announced, tokens)

        if held is not None or announced is not None:
            self._write(write, target.provider, held)
        if answered:
            self._answered(target.provider, held)

    def refused(self, call: ModelCall, announced: RateLimits | None) -> None:
        """The provider said 429."""
        held, target = self._pop(call), call.target
        if target is not None:

            def write() -> None:
                self._store.close_provider(target, announced)
                if held is not None and held.probes:
                    self._store.provider_answered(held.bucket)
                if held is not None:
                    self._store.release_place(self._claim, held)

            self._write(write, target.provider, held)
            self._answered(target.provider, held)

    def released(self, call: ModelCall, *, answered: bool = False) -> None:
        """The call was not made, or was `answered` with an error that costs nothing."""
        held, target = self._pop(call), call.target
        if held is not None:
            self._release(held)
        if answered and target is not None:
            self._answered(target.provider, None)

    def down(self, provider: Provider, wait: Callable[[int], float], lasted: float) -> ProviderDown:
        """For the record that the provider did not answer a call of so many seconds; `wait` as in `ProviderDown`."""
        answered = self._providers.answered_ago(provider)
        self._providers.failing(provider)
        return ProviderDown(wait=wait, probed=self.probed, lasted=lasted, answered=answered)

    def close(self) -> None:
        """All calls of the claim are over; one that came with it may not have been made."""
        with self._lock:
            left, self._waiting = self._waiting, None
        if left is not None:
            self._release(left)

    def _answered(self, provider: Provider, held: ProviderPlace | None) -> None:
        # What gave a place of those who look back has told the record by that.
        if self._providers.answered(provider) and (held is None or not held.probes):
            self._write(lambda: self._store.provider_answered(provider.id), None, None)

    def _pop(self, call: ModelCall) -> ProviderPlace | None:
        with self._lock:
            return self._held.pop(id(call), None)

    def _release(self, held: ProviderPlace) -> None:
        self._write(lambda: self._store.release_place(self._claim, held), None, held)

    def _write(self, write: Callable[[], None], provider: Provider | None, held: ProviderPlace | None) -> None:
        try:
            write()
        except DatabaseUnavailableError as error:
            logger.warning("A place with a provider was not released: %s", error, extra={"action": "place_kept"})
            return
        if provider is not None:
            self._providers.know(provider)
        frees = held is not None and (held.caps.tokens is not None or held.caps.concurrency is not None)
        if held is not None and frees and self._providers.on_room is not None:
            self._providers.on_room(self._claim, held.bucket)
