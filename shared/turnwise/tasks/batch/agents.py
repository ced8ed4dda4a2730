"""A method of an agent, or a plain function, for each of many items."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

from turnwise.agents.chat_agent import ChatAgent
from turnwise.base.sync_async import is_unfinished
from turnwise.tasks.batch.pool import ExceptionHandling, run_pool
from turnwise.tasks.batch.results import BatchResults

T = TypeVar("T")


def run_batch_agent_method(
    agent: ChatAgent,
    method: Callable[[Any], Awaitable[Any]],
    items: Iterable[T],
    input_map: Callable[[T], Any] = str,
    output_map: Callable[[Any], Any] = lambda result: result,
    sequential: bool = True,
    stop_on_first_result: bool = False,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    batch_size: int | None = None,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Call an async method of a clone of `agent` for each item, and return the results in the order of the items.

    `method` is the bound method, such as `agent.llm_response_async`; the clone's method of that name is called. For
    the rest see `run_batch_tasks`. Raises `ValueError` for a method that is not the agent's, and for one that has an
    async twin, such as `agent.llm_response`.
    """
    name = getattr(method, "__name__", "")
    if not callable(getattr(agent, name, None)):
        raise ValueError(
            f"{method!r} is not a method of {type(agent).__name__}; pass one such as agent.llm_response_async"
        )
    if not inspect.iscoroutinefunction(method) and callable(getattr(agent, f"{name}_async", None)):
        raise ValueError(f"{name} of {type(agent).__name__} cannot be awaited; pass agent.{name}_async")
    listed = list(items)

    async def job(i: int) -> Any:
        return output_map(await getattr(agent.clone(i), name)(input_map(listed[i])))

    return run_pool(
        job,
        len(listed),
        message=f"Calling {name} of {agent.config.name} for {len(listed)} items",
        sequential=sequential,
        batch_size=batch_size,
        stop_on_first_result=stop_on_first_result,
        handle_exceptions=handle_exceptions,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )


def llm_response_batch(
    agent: ChatAgent,
    items: Iterable[T],
    input_map: Callable[[T], Any] = str,
    output_map: Callable[[Any], Any] = lambda result: result,
    sequential: bool = True,
    stop_on_first_result: bool = False,
    batch_size: int | None = None,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Return what a clone's model answers to each item; see `run_batch_agent_method`."""
    return run_batch_agent_method(
        agent,
        agent.llm_response_async,
        items,
        input_map,
        output_map,
        sequential,
        stop_on_first_result,
        handle_exceptions,
        batch_size,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )


def agent_response_batch(
    agent: ChatAgent,
    items: Iterable[T],
    input_map: Callable[[T], Any] = str,
    output_map: Callable[[Any], Any] = lambda result: result,
    sequential: bool = True,
    stop_on_first_result: bool = False,
    batch_size: int | None = None,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Return what a clone's tool handler answers to each item; see `run_batch_agent_method`."""
    return run_batch_agent_method(
        agent,
        agent.agent_response_async,
        items,
        input_map,
        output_map,
        sequential,
        stop_on_first_result,
        handle_exceptions,
        batch_size,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )


def run_batch_function(
    function: Callable[[T], Any],
    items: Iterable[T],
    sequential: bool = True,
    batch_size: int | None = None,
    handle_exceptions: ExceptionHandling | bool = ExceptionHandling.RAISE,
    *,
    total_max_cost: Decimal | float = 0,
    total_max_tokens: int = 0,
) -> BatchResults:
    """Call a function, plain or async, for each item, and return the results in the order of the items.

    With `sequential=False` async functions run side by side in one event loop, plain ones in threads. An object whose
    `__call__` is async counts as such a function.
    """
    listed = list(items)

    async def job(i: int) -> Any:
        waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        value = function(listed[i]) if waits or sequential else await asyncio.to_thread(function, listed[i])
        return await value if is_unfinished(value) else value

    name = getattr(function, "__name__", "a function")
    return run_pool(
        job,
        len(listed),
        message=f"Calling {name} for {len(listed)} items",
        sequential=sequential,
        batch_size=batch_size,
        handle_exceptions=handle_exceptions,
        total_max_cost=total_max_cost,
        total_max_tokens=total_max_tokens,
    )
