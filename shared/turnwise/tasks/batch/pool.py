"""Running a job for each of many items, so many at a time, in an event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from decimal import Decimal
from enum import Enum
from typing import Any

from turnwise.errors import LimitReachedError
from turnwise.observability.display import current_settings
from turnwise.tasks.batch.budget import BatchPurse
from turnwise.tasks.batch.results import BatchResults, Outcome


@contextmanager
def progress(message: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on the standard error stream; the value is called after each item.

    Nothing is shown in quiet mode, or where there is no terminal.
    """
    if current_settings().quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task(message, total=total)
        yield lambda: bar.advance(line)


logger = logging.getLogger(__name__)

# How often a blocked event loop's thread looks whether its task was told to end.
_LOOK_SECONDS = 0.1

# The job of an item: given its number in the list.
Job = Callable[[int], Awaitable[Any]]


class ExceptionHandling(str, Enum):
    """The treatment of an item whose job raises.

    RAISE (or False): the batch raises it, and whatever is still running is cancelled; RETURN_NONE (or True): the item's
    result is None; RETURN_EXCEPTION: the item's result is the exception.
    """

    RAISE = "raise"
    RETURN_NONE = "return_none"
    RETURN_EXCEPTION = "return_exception"

    @classmethod
    def _missing_(cls, value: object) -> ExceptionHandling | None:
        return {True: cls.RETURN_NONE, False: cls.RAISE}[value] if isinstance(value, bool) else None


class Pool:
    """One batch: `workers` coroutines take the items in order, and put each result at its place."""

    def __init__(
        self, job: Job, count: int, handling: ExceptionHandling, purse: BatchPurse, *, stop_on_first_result: bool
    ) -> None:
        self._job = job
        self._purse = purse
        self._handling = handling
        self._stop_on_first = stop_on_first_result
        self._left = iter(range(count))
        self._winner: int | None = None
        self._failure: BaseException | None = None
        self._ended = False
        self._workers: list[asyncio.Task[None]] = []
        self.results: list[Any] = [None] * count
        self.outcomes: list[Outcome] = ["not_started"] * count

    async def run(self, at_once: int, advance: Callable[[], None]) -> list[Any]:
        """Return all results, in the order of the items; `at_once` jobs run at a time."""
        workers = [asyncio.create_task(self._work(advance)) for _ in range(at_once)]
        self._workers = workers
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            if self._failure is not None:  # ahead of what others raised as they were cancelled
                raise self._failure
            for worker in workers:
                if worker.done() and not worker.cancelled() and (error := worker.exception()) is not None:
                    raise error
        finally:
            self._end()
            await asyncio.gather(*workers, return_exceptions=True)
        if self._winner is not None:
            return [result if i == self._winner else None for i, result in enumerate(self.results)]
        return self.results

    def _end(self) -> None:
        self._ended = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self, advance: Callable[[], None]) -> None:
        for i in self._left:
            if self._winner is not None:
                return
            if not self._purse.used_up:
                self.results[i] = await self._tried(i)
            advance()
            done = self.outcomes[i] == "done" and self.results[i] is not None
            if self._winner is None and self._stop_on_first and done:
                self._winner = i
                self._end()

    async def _tried(self, i: int) -> Any:
        """The result of an item; what it raises is dealt with."""
        self.outcomes[i] = "cancelled"  # unless it comes to an end
        try:
            with self._purse.open():
                result = await self._job(i)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError):
                if self._ended:
                    raise
                # Something that the job awaited was cancelled, or it did that itself: it failed like any other.
                _take_back_cancellation()
            if isinstance(error, LimitReachedError) and self._purse.refused(error):
                self.outcomes[i] = "limit"
                return None
            if self._handling is ExceptionHandling.RAISE:
                # No one is told of a worker's end as cancelled, so it is kept as well.
                self._failure = self._failure or error
                self._end()
                raise
            self.outcomes[i] = "failed"
            return error if self._handling is ExceptionHandling.RETURN_EXCEPTION else None
        self.outcomes[i] = "done"
        return result


def _take_back_cancellation() -> None:
    """Let this worker go on with the next item."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def run_pool(
    job: Job,
    count: int,
    *,
    message: str,
    sequential: bool,
    batch_size: int | None,
    stop_on_first_result: bool = False,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """The results of all items; raises `ValueError` for a `batch_size` below 1, or a budget below 0.

    `total_max_cost` (USD) and `total_max_tokens` bound what all items use together, 0 for no bound: when they are used
    up, no further item begins, and an item whose call is refused has no result.
    Where only the first result is wanted, the items race for it, `sequential` or not.
    Within a running event loop (a notebook, say) it blocks that loop and works in a loop of its own, in a thread.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; expected at least 1, or None for no limit")
    purse = BatchPurse(total_max_cost, total_max_tokens)
    if count == 0:
        return BatchResults()
    at_once = 1 if sequential and not stop_on_first_result else min(count, batch_size or count)
    pool = Pool(job, count, ExceptionHandling(handle_exceptions), purse, stop_on_first_result=stop_on_first_result)

    async def whole() -> list[Any]:
        with progress(message, count) as advance:
            return await pool.run(at_once, advance)

    results = run_in_loop(whole)
    reason = purse.stop_reason
    # Of a budget that was used up by the last item, nothing is to be said.
    stopped = reason is not None and any(outcome in ("limit", "not_started") for outcome in pool.outcomes)
    if stopped:
        left = sum(outcome != "done" for outcome in pool.outcomes)
        extra = {"action": "batch_stopped", "limit": reason.limit if reason is not None else None, "items": left}
        logger.warning("%s: %s; %d of %d items are not done", message, reason, left, count, extra=extra)
    return BatchResults(results, usage=purse.used, outcomes=pool.outcomes, stop_reason=reason if stopped else None)


def run_in_loop(whole: Callable[[], Coroutine[Any, Any, list[Any]]]) -> list[Any]:
    """Return what the coroutine returns, from a new event loop; in a thread of its own where this one has a loop
    already.
    """
    if not _in_loop():
        return asyncio.run(whole())
    beside = _Beside(whole)
    task = asyncio.current_task()
    # Read before the batch begins: an interrupt may come as soon as it has.
    before = task.cancelling() if task is not None else 0
    with ThreadPoolExecutor(1, thread_name_prefix="turnwise-batch") as thread:
        # With this thread's settings, and in the run that it may be part of.
        running = thread.submit(copy_context().run, lambda: asyncio.run(beside.run()))
        try:
            return _awaited(running, task, before)
        except BaseException:
            # An interrupt reaches this thread alone, and leaving the block waits for the other one.
            beside.cancel()
            raise


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _awaited(running: Future[list[Any]], task: asyncio.Task[Any] | None, before: int) -> list[Any]:
    """Return what the other thread comes to. Raises `CancelledError` once this thread's task is told to end again.

    Its loop is blocked meanwhile, and an interrupt within `asyncio.run` is no more than a request to that loop.
    """
    while True:
        done, _ = wait([running], timeout=_LOOK_SECONDS)
        if done:
            return running.result()
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


class _Beside:
    """A coroutine in another thread's event loop, which this one may cancel."""

    def __init__(self, whole: Callable[[], Coroutine[Any, Any, list[Any]]]) -> None:
        self._whole = whole
        self._lock = threading.Lock()
        self._task: asyncio.Task[list[Any]] | None = None
        self._cancelled = False

    async def run(self) -> list[Any]:
        with self._lock:
            self._task = asyncio.create_task(self._whole())
            if self._cancelled:
                self._task.cancel()
        try:
            return await self._task
        finally:
            with self._lock:
                self._task = None

    def cancel(self) -> None:
        """End it, also if it has not begun; one that has ended stays as it is."""
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
