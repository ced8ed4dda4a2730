"""An event loop in a thread of its own, for coroutines that synchronous code waits for.

There is one for the process, so that what a coroutine leaves open (a connection, a session) is at hand when the next
one runs, whichever thread or loop asks for it. It is started by the first call, and anew in a forked child.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

from turnwise.base.cancellation import Cancellation, current_cancellation

T = TypeVar("T")


def run_in_background(call: Callable[[], Awaitable[T]]) -> T:
    """Wait for what `call` awaits, in the context of the caller; its errors are raised here.

    A caller that is interrupted cancels it, and so does the current `Cancellation`, which raises
    `CallCancelledError`. Raises `RuntimeError` in a coroutine of this very loop, which would wait for itself.
    """
    if on_background_loop():
        raise RuntimeError(
            "a synchronous call from a coroutine that runs in the background would wait for itself; "
            "await the asynchronous form instead"
        )
    current = current_cancellation()
    call_in_background = _Call(call if current is None else partial(_cut_with, current, call))
    try:
        return call_in_background.result.result()
    except BaseException:
        # Whether the coroutine failed or the waiting was interrupted: nothing of it continues.
        call_in_background.cancel()
        raise


async def await_in_background(call: Callable[[], Awaitable[T]]) -> T:
    """Await what `call` awaits, on the background loop, from any other one."""
    if on_background_loop():
        return await call()
    call_in_background = _Call(call)
    try:
        return await asyncio.wrap_future(call_in_background.result)
    except BaseException:
        call_in_background.cancel()
        raise


async def _cut_with(cancellation: Cancellation, call: Callable[[], Awaitable[T]]) -> T:
    with cancellation.opened():
        return await call()


class _Call(Generic[T]):
    """A coroutine on its way; `result` is set by it."""

    def __init__(self, call: Callable[[], Awaitable[T]]) -> None:
        self.result: Future[T] = Future()
        self._call = call
        self._loop = background_loop()
        self._task: asyncio.Task[None] | None = None
        # The loop copies the context of whoever calls this, and a task that of whoever makes it.
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self._task.cancel() if self._task is not None else None)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._follow())

    async def _follow(self) -> None:
        try:
            value = await self._call()
        except BaseException as error:  # noqa: BLE001 - raised where someone waits for it
            if not self.result.cancelled():
                self.result.set_exception(error)
        else:
            if not self.result.cancelled():
                self.result.set_result(value)


def on_background_loop() -> bool:
    """Return whether the caller runs on the process's loop."""
    try:
        return asyncio.get_running_loop() is _loops.get(os.getpid())
    except RuntimeError:  # on no loop at all
        return False


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's loop, running."""
    process = os.getpid()
    loop = _loops.get(process)
    if loop is None:
        fresh = asyncio.new_event_loop()
        loop = _loops.setdefault(process, fresh)
        if loop is fresh:
            _start(loop)
        else:  # another thread was faster
            fresh.close()
    return loop


# By process, because a fork copies the loop but not the thread that runs it.
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def _start(loop: asyncio.AbstractEventLoop) -> None:
    thread = threading.Thread(target=loop.run_forever, name="turnwise-background-loop", daemon=True)
    thread.start()

    def stop(process: int = os.getpid()) -> None:
        if os.getpid() == process:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_STOP_SECONDS)
            if not loop.is_running():
                loop.close()

    atexit.register(stop)


# How long the end of the program waits for a coroutine that blocks the loop.
_STOP_SECONDS = 2.0
