"""A provider's limits in one process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from turnwise.base.cancellation import Cancellation, Cause
from turnwise.base.clock import SystemClock
from turnwise.base.sync_async import run_async, run_sync
from turnwise.errors import CallCancelledError
from turnwise.errors.rate_limits import Quota, RateLimits
from turnwise.models.limits.local import LocalLimits, LocalPlace
from turnwise.models.limits.provider import Target, provider_of
from turnwise.models.limits.window import Caps

PROVIDER = provider_of("http://models/v1", "m", "secret")


class Hands(SystemClock):
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def target(requests: int | None = None, tokens: int | None = None, concurrency: int | None = None) -> Target:
    return Target(provider=PROVIDER, caps=Caps(requests=requests, tokens=tokens, concurrency=concurrency, window=10.0))


def enter(limits: LocalLimits, of: Target, tokens: int = 1) -> LocalPlace:
    return run_sync(limits.entering(of, lambda: tokens))


def test_the_key_itself_is_nowhere() -> None:
    assert "secret" not in repr(PROVIDER) and PROVIDER.id == provider_of("http://models/v1/", "m", "secret").id
    assert PROVIDER.id != provider_of("http://models/v1", "m", "other").id


def test_without_limits_nothing_is_counted() -> None:
    def never() -> int:
        raise AssertionError("nobody asked for tokens")

    limits = LocalLimits(Hands())
    for _ in range(3):
        place = run_sync(limits.entering(target(), never))
        assert not place.counts
        place.settle(1, None)


def test_calls_wait_for_room_in_their_window() -> None:
    clock = Hands()
    limits = LocalLimits(clock)
    times = []
    for _ in range(5):
        enter(limits, target(requests=2)).settle(1, None)
        times.append(clock.now - 1_000)
    assert times[:2] == [0, 0]
    assert 10 < times[2] == times[3] <= 10.4
    assert 20 < times[4] <= 20.7


def test_the_next_who_waits_is_not_overtaken_by_a_smaller_call() -> None:
    clock = Hands()
    limits = LocalLimits(clock)
    enter(limits, target(tokens=100), 60)
    waiting = limits.entering(target(tokens=100), lambda: 80)
    effect = next(waiting)  # it has booked its time, and sleeps
    enter(limits, target(tokens=100), 10)
    assert clock.now > 1_010
    effect.sync()


def test_who_is_cancelled_while_it_waits_gives_its_place_back() -> None:
    limits = LocalLimits()
    of = Target(provider=PROVIDER, caps=Caps(requests=1, concurrency=1, window=600.0))
    held = enter(limits, of)
    cut = Cancellation()

    def wait() -> None:
        with cut.open(), pytest.raises(CallCancelledError):
            enter(limits, of)

    thread = threading.Thread(target=wait)
    thread.start()
    cut.cancel(Cause.KILLED)
    thread.join()
    held.release()
    enter(limits, of)


def test_who_is_cancelled_while_it_waits_for_its_time_holds_nobody_back() -> None:
    clock = Hands()
    limits = LocalLimits(clock)
    of = target(tokens=100)
    enter(limits, of, 10)
    waiting = [limits.entering(of, lambda: 95) for _ in range(3)]
    for one in waiting:
        next(one)  # each has booked a window of its own
    for one in waiting:
        one.close()

    enter(limits, of, 10)

    assert clock.now == 1_000


def test_a_task_that_is_cancelled_leaves_the_line() -> None:
    async def main() -> None:
        limits = LocalLimits()
        of = target(concurrency=1)
        held = await run_async(limits.entering(of, lambda: 1))
        first, second = (asyncio.ensure_future(run_async(limits.entering(of, lambda: 1))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        held.settle(1, None)
        (await second).release()
        (await run_async(limits.entering(of, lambda: 1))).release()

    asyncio.run(main())


def test_threads_and_coroutines_share_the_calls_at_once() -> None:
    limits, of = LocalLimits(), target(concurrency=3)
    lock, now, most = threading.Lock(), [0], [0]

    def work(place: LocalPlace) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])

    def leave(place: LocalPlace) -> None:
        with lock:
            now[0] -= 1
        place.settle(1, None)

    def in_thread() -> None:
        for _ in range(50):
            place = enter(limits, of)
            work(place)
            leave(place)

    async def in_loop() -> None:
        for _ in range(50):
            place = await run_async(limits.entering(of, lambda: 1))
            work(place)
            await asyncio.sleep(0)
            leave(place)

    async def loops() -> None:
        await asyncio.gather(*(in_loop() for _ in range(4)))

    runs: list[Callable[[], None]] = [in_thread, in_thread, in_thread, lambda: asyncio.run(loops())]
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most[0] <= 3


def test_an_announcement_sets_the_limit_for_the_next_calls() -> None:
    clock = Hands()
    limits = LocalLimits(clock)
    told = RateLimits(requests=Quota(limit=3, remaining=1, reset=10.0))
    enter(limits, target()).settle(1, told)
    enter(limits, target()).settle(1, None)
    assert clock.now == 1_000
    enter(limits, target()).settle(1, None)
    assert clock.now == 1_010


def test_after_a_refusal_all_wait_until_the_provider_has_room_those_too_who_had_a_place() -> None:
    clock = Hands()
    limits = LocalLimits(clock)
    of = target(requests=1)
    refused = enter(limits, of)
    waiting = limits.entering(of, lambda: 1)
    effect = next(waiting)
    refused.refused(RateLimits(retry_after=30.0))
    effect.sync()  # its time has come, but the provider was closed meanwhile
    again = waiting.send(None)
    again.sync()
    assert clock.now == pytest.approx(1_030)
    with pytest.raises(StopIteration):
        waiting.send(None)
