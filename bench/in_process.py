"""`Task.run`, in this process."""

from __future__ import annotations

import time

from bench.result import Result
from bench.tool_loop import first_message, loop, turns_of
from turnwise import quiet_mode


def measure(turns: int, repeats: int = 5) -> Result:
    """The fastest of some runs, which is the one that was disturbed least."""
    best: Result | None = None
    for _ in range(repeats):
        task = loop()
        cpu, begun = time.process_time(), time.perf_counter()
        with quiet_mode():
            task.run(first_message(turns))
        seconds, used = time.perf_counter() - begun, time.process_time() - cpu
        done = turns_of(turns)
        if best is None or seconds < best.seconds:
            best = Result(
                way="in-process",
                turns=done,
                conversations=1,
                seconds=seconds,
                cpu_ms={"process": used * 1000 / done},
            )
    assert best is not None
    return best
