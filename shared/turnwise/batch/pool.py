"""Running a job for each of many items, so many at a time, in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from enum import Enum
from typing import Any

from turnwise.batch.progress import progress

# The job of an item: given its number in the list.
Job = Callable[[int], Awaitable[Any]]


class ExceptionHandling(str, Enum):
    """What becomes of an item whose job raises.

    RAISE: the batch raises it, and whatever is still running is cancelled; RETURN_NONE: the item's result is None;
    RETURN_EXCEPTION: the item's result is the exception.
    """

    RAISE = "raise"
    RETURN_NONE = "return_none"
    RETURN_EXCEPTION = "return_exception"


class Pool:
    """One batch: `workers` coroutines take the items in order, and put each result at its place."""

    def __init__(self, job: Job, count: int, handling: ExceptionHandling, *, stop_on_first_result: bool) -> None:
        self._job = job
        self._handling = handling
        self._stop_on_first = stop_on_first_result
        self._left = iter(range(count))
        self._winner: int | None = None
        self._workers: list[asyncio.Task[None]] = []
        self.results: list[Any] = [None] * count

    async def run(self, at_once: int, advance: Callable[[], None]) -> list[Any]:
        """All results, in the order of the items; `at_once` jobs run at a time."""
        workers = [asyncio.create_task(self._work(advance)) for _ in range(at_once)]
        self._workers = workers
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in workers:
                if worker.done() and not worker.cancelled() and (error := worker.exception()) is not None:
                    raise error
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if self._winner is not None:
            return [result if i == self._winner else None for i, result in enumerate(self.results)]
        return self.results

    async def _work(self, advance: Callable[[], None]) -> None:
        for i in self._left:
            if self._winner is not None:
                return
            failed = False
            try:
                result = await self._job(i)
            except Exception as error:
                if self._handling is ExceptionHandling.RAISE:
                    raise
                failed = True
                result = error if self._handling is ExceptionHandling.RETURN_EXCEPTION else None
            self.results[i] = result
            advance()
            if self._winner is None and self._stop_on_first and not failed and result is not None:
                self._winner = i
                for worker in self._workers:
                    worker.cancel()


def run_pool(
    job: Job,
    count: int,
    *,
    message: str,
    sequential: bool,
    batch_size: int | None,
    stop_on_first_result: bool = False,
    handle_exceptions: ExceptionHandling = ExceptionHandling.RAISE,
) -> list[Any]:
    """The results of all items; raises `ValueError` for a `batch_size` below 1.

    Within a running event loop (a notebook, say) it blocks that loop and works in a loop of its own, in a thread.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; expected at least 1, or None for no limit")
    if count == 0:
        return []
    at_once = 1 if sequential else min(count, batch_size or count)
    pool = Pool(job, count, ExceptionHandling(handle_exceptions), stop_on_first_result=stop_on_first_result)

    async def whole() -> list[Any]:
        with progress(message, count) as advance:
            return await pool.run(at_once, advance)

    return run_in_loop(whole)


def run_in_loop(whole: Callable[[], Coroutine[Any, Any, list[Any]]]) -> list[Any]:
    """What the coroutine returns, from a new event loop; in a thread of its own where this one has a loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(whole())
    with ThreadPoolExecutor(1, thread_name_prefix="turnwise-batch") as thread:
        # With this thread's settings, and in the run that it may be part of.
        return thread.submit(copy_context().run, lambda: asyncio.run(whole())).result()
