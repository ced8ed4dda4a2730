"""`Task.run` and `Task.run_async`, in this process."""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
import time

from bench.counting import first_message, turns_of
from bench.result import Result
from bench.tool_loop import loop


def measure(turns: int, repeats: int = 5, *, awaited: bool = False) -> Result:
    """The fastest of some runs (`awaited`: of `run_async`), which is the one that was disturbed least."""
    best: Result | None = None
    for _ in range(repeats):
        task = loop()
        cpu, begun = time.process_time(), time.perf_counter()
        if awaited:
            asyncio.run(task.run_async(first_message(turns)))
        else:
            task.run(first_message(turns))
        seconds, used = time.perf_counter() - begun, time.process_time() - cpu
        done = turns_of(turns)
        if best is None or seconds < best.seconds:
            best = Result(
                way="in-process, awaited" if awaited else "in-process",
                turns=done,
                conversations=1,
                seconds=seconds,
                cpu_ms={"process": used * 1000 / done},
            )
    assert best is not None
    return best


def ageing(turns: int = 5_000, window: int = 200, repeats: int = 5) -> float:
    """CPU of a turn near the end of one conversation, to that of a turn after the first 50; the median of some runs."""
    ratios = []
    for _ in range(repeats):
        at: list[float] = []
        task = loop(seen=lambda at=at: at.append(time.process_time()))  # type: ignore[misc]
        task.run(first_message(turns + window))
        took = [later - earlier for earlier, later in itertools.pairwise(at)]  # two turns each
        young, old = took[25 : 25 + window // 2], took[-window // 2 :]
        ratios.append(statistics.median(old) / statistics.median(young))
    return statistics.median(ratios)


def side_by_side(conversations: int = 1_000, turns: int = 50, repeats: int = 3) -> float:
    """CPU of a turn when all conversations run in one event loop, to that of one after another; the median of some.

    Each model gives way to the others before it answers, so that all conversations are under way at once. Tasks are
    made before, and kept until the end, in both.
    """
    ratios = []
    for _ in range(repeats):
        one_by_one = asyncio.run(_cpu(conversations, turns, together=False))
        together = asyncio.run(_cpu(conversations, turns, together=True))
        ratios.append(together / one_by_one)
    return statistics.median(ratios)


async def _cpu(conversations: int, turns: int, *, together: bool) -> float:
    tasks = [loop(patient=True) for _ in range(conversations)]
    gc.collect()
    begun = time.process_time()
    if together:
        await asyncio.gather(*(task.run_async(first_message(turns)) for task in tasks))
    else:
        for task in tasks:
            await task.run_async(first_message(turns))
    return time.process_time() - begun
