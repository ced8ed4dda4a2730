"""The token that cuts work short, and the watch that keeps deadlines."""

from __future__ import annotations

import asyncio
import threading

import pytest

from turnwise import CallCancelledError, CallTimeoutError, cancelled, check_cancelled
from turnwise.base.cancellation import Cancellation, Cause, current_cancellation, pause
from turnwise.base.clock import SYSTEM_CLOCK, SystemClock
from turnwise.base.deadlines import DeadlineWatch

HOURS = 3_600.0


def test_the_first_cause_counts() -> None:
    token = Cancellation()
    assert token.cause is None
    token.cancel(Cause.DEADLINE)
    token.cancel(Cause.KILLED)
    assert token.cause is Cause.DEADLINE


def test_a_token_is_cancelled_with_those_around_it() -> None:
    outer = Cancellation()
    inner = Cancellation(parent=Cancellation(parent=outer))
    outer.cancel(Cause.LOST)
    assert inner.cause is Cause.LOST
    assert inner.origin is outer


def test_the_outermost_that_was_cancelled_is_the_origin() -> None:
    outer = Cancellation()
    inner = Cancellation(parent=outer, seconds=0, late=Cause.TIMEOUT, what="it")
    assert inner.origin is inner
    outer.cancel(Cause.KILLED)
    assert inner.origin is outer
    with pytest.raises(CallCancelledError, match="its run was ended"):
        inner.check()


def test_whoever_waits_is_called_once_it_is_cancelled_and_not_after_it_left() -> None:
    called: list[str] = []
    token = Cancellation()
    with token.on_cancel(lambda: called.append("left")):
        pass
    with token.on_cancel(lambda: called.append("waits")):
        token.cancel(Cause.KILLED)
        assert called == ["waits"]
    with token.on_cancel(lambda: called.append("late")):
        assert called == ["waits", "late"]


def test_code_under_a_token_can_look_at_it() -> None:
    assert current_cancellation() is None
    assert not cancelled()
    token = Cancellation()
    with token.open():
        assert not cancelled()
        token.cancel(Cause.KILLED)
        assert cancelled()
        with pytest.raises(CallCancelledError):
            check_cancelled()
    check_cancelled()
    with pytest.raises(CallCancelledError), token.open():
        raise AssertionError("nothing is begun under it any more")


def test_a_pause_ends_with_the_token() -> None:
    token = Cancellation()
    begun = threading.Event()

    def kill() -> None:
        assert begun.wait(30)
        token.cancel(Cause.KILLED)

    killer = threading.Thread(target=kill)
    killer.start()
    with token.open(), pytest.raises(CallCancelledError):
        begun.set()
        pause(HOURS)
    killer.join()
    pause(0)


def test_a_limit_of_time_says_what_took_too_long() -> None:
    token = Cancellation(seconds=0.05, late=Cause.TIMEOUT, what="the tool 'dig'")
    with pytest.raises(CallTimeoutError, match=r"the tool 'dig' took longer than 0\.05 s"), token.open():
        pause(HOURS)


def test_a_task_is_cancelled_and_told_why() -> None:
    async def dig(token: Cancellation) -> None:
        with token.opened():
            asyncio.get_running_loop().call_soon(token.cancel, Cause.KILLED)
            await asyncio.sleep(HOURS)

    async def main() -> None:
        with pytest.raises(CallCancelledError):
            await dig(Cancellation())
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    asyncio.run(main())


def test_a_cancellation_from_elsewhere_stays_what_it_is() -> None:
    async def dig() -> None:
        with Cancellation().opened():
            await asyncio.sleep(HOURS)

    async def main() -> None:
        task = asyncio.create_task(dig())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_deadlines_are_called_in_their_order_and_withdrawn_ones_are_not() -> None:
    watch, called, done = DeadlineWatch(SystemClock()), [], threading.Event()
    now = SYSTEM_CLOCK.monotonic()
    watch.add(now + HOURS, lambda: called.append("late"))
    watch.add(now + 0.10, done.set)
    watch.add(now + 0.05, lambda: called.append("second"))
    watch.add(now + 0.02, lambda: called.append("withdrawn")).withdraw()
    watch.add(now + 0.01, lambda: called.append("first"))
    assert done.wait(30)
    assert called == ["first", "second"]


def test_withdrawn_deadlines_do_not_pile_up() -> None:
    watch = DeadlineWatch(SystemClock())
    for _ in range(10_000):
        watch.add(SYSTEM_CLOCK.monotonic() + HOURS, lambda: None).withdraw()
    assert len(watch._heap) < 1_000
