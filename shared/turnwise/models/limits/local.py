"""A provider's limits in one process: calls wait until there is room, in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from turnwise.base.cancellation import check_cancelled, current_cancellation
from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.base.sync_async import Effect, Steps
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.limits.provider import Provider, Target
from turnwise.models.limits.window import Caps, LimitPlace, Window


class LocalLimits:
    """The windows of one process; safe to use from threads and event loops. Costs nothing without limits."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lanes: dict[Provider, _Lane] = {}

    def entering(self, target: Target, tokens: Callable[[], int]) -> Steps[LocalPlace]:
        """Wait until there is room for a call of so many tokens, and take it."""
        lane = self._lanes.get(target.provider)
        if lane is None:
            if not target.caps.any:
                return LocalPlace(self, target)
            lane = self.lane(target.provider)
        place = LocalPlace(self, target, lane)
        yield from lane.enter(place, target.caps, tokens())
        return place

    def lane(self, provider: Provider) -> _Lane:
        """The lane of a provider, made at its first use."""
        with self._lock:
            return self._lanes.setdefault(provider, _Lane(self._clock))


class LocalPlace:
    """Room taken for one call; exactly one of the methods ends it."""

    def __init__(self, limits: LocalLimits, target: Target, lane: _Lane | None = None) -> None:
        self._limits, self._target, self._lane = limits, target, lane
        self.place: LimitPlace | None = None
        self.slot: _Slot | None = None

    @property
    def counts(self) -> bool:
        """Return whether calls of the target are counted."""
        return self._lane is not None

    def settle(self, tokens: int, announced: RateLimits | None) -> None:
        """The call was answered and used so many tokens; learn from what came with the answer."""
        if self._lane is not None:
            self._lane.settle(self, self._target.caps, tokens)
        if announced is not None:
            lane = self._lane or self._limits.lane(self._target.provider)
            lane.learn(announced, self.place, self._target.caps, tokens)

    def refused(self, announced: RateLimits | None) -> None:
        """The provider said 429."""
        (self._lane or self._limits.lane(self._target.provider)).refused(announced)
        self.release()

    def release(self) -> None:
        """The call was not made."""
        if self._lane is not None:
            self._lane.release(self, self._target.caps)


class _Slot:
    """One of the calls at once, or a place in the line for one."""

    def __init__(self) -> None:
        self.granted = False
        self.wake: Callable[[], object] | None = None


class _Lane:
    """The window of one provider, and the line of those who wait for one of its calls to end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._window = Window()
        # When the calls are let through that wait for their time, in that order.
        self._booked: dict[LocalPlace, float] = {}
        self._calls = 0
        self._line: deque[_Slot] = deque()

    def enter(self, holder: LocalPlace, configured: Caps, tokens: int) -> Steps[None]:
        try:
            if configured.concurrency is not None:
                yield from self._queue(holder, configured.concurrency)
            yield from self._book(holder, configured, tokens)
        except BaseException:
            self.release(holder, configured)
            raise

    def settle(self, holder: LocalPlace, configured: Caps, tokens: int) -> None:
        with self._lock:
            if holder.place is not None:
                self._window = self._window.settle(self._window.caps(configured), holder.place, tokens)
        self._leave(holder)

    def release(self, holder: LocalPlace, configured: Caps) -> None:
        self._unbook(holder, configured)
        self._leave(holder)

    def refused(self, announced: RateLimits | None) -> None:
        with self._lock:
            self._window = self._window.refused(announced, self._clock.monotonic())

    def learn(self, announced: RateLimits, place: LimitPlace | None, configured: Caps, tokens: int) -> None:
        with self._lock:
            if place is not None:
                self._window = self._window.announced(announced, place)
            else:
                self._window = self._window.met(configured, announced, tokens, self._clock.monotonic())

    def _book(self, holder: LocalPlace, configured: Caps, tokens: int) -> Steps[None]:
        """Take the first time with room behind all who came before, and wait for it."""
        while True:
            with self._lock:
                now, caps = self._clock.monotonic(), self._window.caps(configured)
                last = next(reversed(self._booked.values()), now)
                at = self._window.room(caps, tokens, max(now, last)).at
                self._window, holder.place = self._window.take(caps, tokens, at)
                self._booked[holder] = at
            if at > now:
                yield Effect(sync=partial(self._pause, at - now), awaited=partial(asyncio.sleep, at - now))
            with self._lock:
                if self._window.closed_until <= self._clock.monotonic():
                    del self._booked[holder]
                    return
            self._unbook(holder, configured)  # it was closed meanwhile

    def _unbook(self, holder: LocalPlace, configured: Caps) -> None:
        with self._lock:
            if holder.place is not None:
                self._window = self._window.release(self._window.caps(configured), holder.place)
                holder.place = None
                self._booked.pop(holder, None)

    def _queue(self, holder: LocalPlace, most: int) -> Steps[None]:
        slot = holder.slot = _Slot()
        with self._lock:
            if self._calls < most and not self._line:
                self._calls += 1
                slot.granted = True
                return
            self._line.append(slot)
        yield Effect(sync=lambda: self._wait(slot), awaited=lambda: self._await(slot))

    def _pause(self, seconds: float) -> None:
        current = current_cancellation()
        if current is not None:
            current.wait(seconds)
        else:
            self._clock.sleep(seconds)

    def _wait(self, slot: _Slot) -> None:
        free, current = self._clock.event(), current_cancellation()
        if self._wakes(slot, free.set):
            return
        with current.on_cancel(free.set) if current is not None else nullcontext():
            free.wait()
        check_cancelled()

    async def _await(self, slot: _Slot) -> None:
        loop, free = asyncio.get_running_loop(), asyncio.Event()
        if not self._wakes(slot, lambda: loop.call_soon_threadsafe(free.set)):
            await free.wait()

    def _wakes(self, slot: _Slot, wake: Callable[[], object]) -> bool:
        """Ask to be woken when the slot is granted, and return whether it is granted already."""
        with self._lock:
            slot.wake = wake
            return slot.granted

    def _leave(self, holder: LocalPlace) -> None:
        slot, holder.slot = holder.slot, None
        if slot is None:
            return
        with self._lock:
            if not slot.granted:
                self._line.remove(slot)
            elif self._line:
                heir = self._line.popleft()
                heir.granted = True
                if heir.wake is not None:
                    heir.wake()
            else:
                self._calls -= 1


# Limits are of an account, not of a run, so all that a process calls outside of served runs counts together.
process_limits = LocalLimits()
