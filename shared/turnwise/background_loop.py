"""An event loop in a thread of its own, for coroutines that synchronous code waits for.

There is one for the process, so that what a coroutine leaves open (a connection, a session) is at hand when the next
one runs, whichever thread asks for it. It is started by the first call, and anew in a forked child.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def run_in_background(call: Callable[[], Awaitable[T]]) -> T:
    """Wait for what `call` awaits, in the context of the caller; its errors are raised here.

    A caller that is interrupted cancels it. Must not be called from a coroutine that runs on this very loop.
    """
    loop = background_loop()
    result: Future[T] = Future()
    context = contextvars.copy_context()

    async def follow() -> None:
        try:
            value = await call()
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
            if not result.cancelled():
                result.set_exception(error)
        else:
            if not result.cancelled():
                result.set_result(value)

    tasks: list[asyncio.Task[None]] = []
    loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(follow(), context=context)))
    try:
        return result.result()
    except BaseException:
        # Whether the coroutine failed or the waiting was interrupted: nothing of it goes on.
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        raise


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
