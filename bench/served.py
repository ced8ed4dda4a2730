"""Served runs: handed to the record, watched until they end."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.processes import cpu_by_name, cpu_seconds, difference
from bench.result import Result
from bench.tool_loop import first_message, turns_of
from turnwise.base.ids import new_id
from turnwise.bus.base import Bus
from turnwise.messages.wire import encode_document
from turnwise.record.runs.records import NewRun
from turnwise.record.store import Store
from turnwise.tasks.entry import document_of

_PATIENCE = 600.0
_SERVERS = ("postgres", "beam.smp")


def measure(way: str, store: Store, bus: Bus, turns: int, conversations: int, pids: Callable[[], list[int]]) -> Result:
    """Run `conversations` loops of `turns` at once; raises `RuntimeError` if one does not complete."""
    own, servers = cpu_seconds(pids()), cpu_by_name(_SERVERS)
    begun = time.perf_counter()
    runs = [_submit(store, bus, turns) for _ in range(conversations)]
    for run in runs:
        _await_end(store, run, begun + _PATIENCE)
    seconds = time.perf_counter() - begun
    done = turns_of(turns)
    used = {"processes": cpu_seconds(pids()) - own, **difference(servers, cpu_by_name(_SERVERS))}
    return Result(
        way=way,
        turns=done,
        conversations=conversations,
        seconds=seconds,
        cpu_ms={name: value * 1000 / (done * conversations) for name, value in used.items() if value},
        bytes_per_turn=store.bytes_stored(runs[0]) / done,
    )


def _submit(store: Store, bus: Bus, turns: int) -> str:
    run = NewRun(id=new_id("run"), task="loop", version="1", message=encode_document(document_of(first_message(turns))))
    store.submit(run)
    bus.wake(run.id)
    return run.id


def _await_end(store: Store, run_id: str, until: float) -> None:
    while not (run := store.run(run_id)).ended:
        if time.perf_counter() > until:
            raise RuntimeError(f"{run_id} is {run.status} after {_PATIENCE:.0f} s; it waits for {run.waiting_for}")
        time.sleep(0.01)  # this measures: a poll costs what it measures, a condition would too
    if run.status != "completed":
        raise RuntimeError(f"{run_id} ended {run.status} ({run.status_code}): {run.error}")
