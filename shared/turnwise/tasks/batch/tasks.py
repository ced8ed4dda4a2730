"""A task for each of many items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

from turnwise.messages.document import ChatDocument
from turnwise.observability.display import quiet_mode
from turnwise.tasks.batch.pool import ExceptionHandling, run_pool
from turnwise.tasks.batch.results import BatchResults
from turnwise.tasks.task import Task

T = TypeVar("T")


def run_batch_tasks(
    task: Task[Any],
    items: Iterable[T],
    input_map: Callable[[T], Any] = str,
    output_map: Callable[[Any], Any] = lambda result: result,
    stop_on_first_result: bool = False,
    sequential: bool = True,
    batch_size: int | None = None,
    turns: int = -1,
    max_cost: Decimal | float = 0,
    max_tokens: int = 0,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Run a clone of `task` for each item, and return the results in the order of the items.

    `input_map` makes an item's message, `output_map` its result out of what the run gave (None too). One after
    another, or with `sequential=False` side by side in one event loop, at most `batch_size` at a time (default: all).
    `turns`, `max_cost` (USD) and `max_tokens` bound each run. With `stop_on_first_result` the items race, `sequential`
    or not: the first result that is not None ends the batch, and the others are None. `handle_exceptions` says what an
    error becomes. Shows a progress bar on a terminal. Raises what a run raises, with `ExceptionHandling.RAISE`.

    Returns a `BatchResults`, a list that also tells what was used and what became of each item. `total_max_cost` (USD)
    and `total_max_tokens` bound all items together: once they are used up, the items that are left are not begun, and
    their results are None.
    """
    listed = list(items)
    return run_batch_task_gen(
        task.clone,
        listed,
        input_map,
        output_map,
        stop_on_first_result,
        sequential,
        batch_size,
        turns,
        f"Running {len(listed)} copies of {task.name}",
        handle_exceptions,
        max_cost,
        max_tokens,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )


def run_batch_task_gen(
    gen_task: Callable[[int], Task[Any]],
    items: Iterable[T],
    input_map: Callable[[T], Any] = str,
    output_map: Callable[[Any], Any] = lambda result: result,
    stop_on_first_result: bool = False,
    sequential: bool = True,
    batch_size: int | None = None,
    turns: int = -1,
    message: str | None = None,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    max_cost: Decimal | float = 0,
    max_tokens: int = 0,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Run the task that `gen_task` makes for the i-th item (from 0) on that item; see `run_batch_tasks`.

    A task is made when its turn comes. `message` stands before the progress bar.
    """
    listed = list(items)

    async def job(i: int) -> Any:
        given = input_map(listed[i])
        task = gen_task(i)
        if isinstance(given, ChatDocument) and given.metadata.recipient:
            # It was meant for the original; the task of an item may go by another name.
            given = ChatDocument.deepcopy(given)
            given.metadata.recipient = task.name
        # Runs side by side would mix on the terminal, which shows how far the batch is.
        with quiet_mode():
            result = await task.run_async(given, turns=turns, max_cost=max_cost, max_tokens=max_tokens)
        return output_map(result)

    return run_pool(
        job,
        len(listed),
        message=message or f"Running {len(listed)} tasks",
        sequential=sequential,
        batch_size=batch_size,
        stop_on_first_result=stop_on_first_result,
        handle_exceptions=handle_exceptions,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )
