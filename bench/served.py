"""Served runs: handed to the record, watched until they end."""

from __future__ import annotations

import time
from collections.abc import Callable

import sqlalchemy as sa

from bench.counting import first_message, turns_of
from bench.processes import cpu_by_name, cpu_seconds, difference
from bench.result import Result
from turnwise.base.ids import new_id
from turnwise.bus.base import Bus
from turnwise.messages.wire import encode_document
from turnwise.record.database import driver
from turnwise.record.database.schema import runs as runs_table
from turnwise.record.runs.records import NewRun
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.tasks.entry import document_of

_PATIENCE = 600.0
_FINISHED_AT = sa.select(runs_table.c.finished_at).where(runs_table.c.id == sa.bindparam("run_id"))
_SERVERS = ("postgres", "beam.smp")


def measure(way: str, store: Store, bus: Bus, turns: int, conversations: int, pids: Callable[[], list[int]]) -> Result:
    """Run `conversations` loops of `turns` at once; raises `RuntimeError` if one does not complete."""
    own, servers = cpu_seconds(pids()), cpu_by_name(_SERVERS)
    runs, seconds = play(store, bus, turns, conversations)
    done = turns_of(turns)
    used = {"processes": cpu_seconds(pids()) - own, **difference(servers, cpu_by_name(_SERVERS))}
    return Result(
        way=way,
        turns=done,
        conversations=conversations,
        seconds=seconds,
        cpu_ms={name: value * 1000 / (done * conversations) for name, value in used.items() if value},
        bytes_per_turn=store.inspector.bytes_stored(runs[0]) / done,
    )


def play(
    store: Store, bus: Bus, turns: int, conversations: int, patience: float = _PATIENCE
) -> tuple[list[str], float]:
    """Run the loops to their ends; return their ids and the seconds that passed.

    Raises `RuntimeError` if one does not complete.
    """
    begun = time.perf_counter()
    runs = [_submit(store, bus, turns) for _ in range(conversations)]
    for run in runs:
        _await_end(store, run, begun, patience)
    return runs, time.perf_counter() - begun


def _submit(store: Store, bus: Bus, turns: int) -> str:
    run = NewRun(id=new_id("run"), task="loop", version="1", message=encode_document(document_of(first_message(turns))))
    store.tenant(DEFAULT_TENANT).submit(run)
    bus.wake(run.id)
    return run.id


def _await_end(store: Store, run_id: str, begun: float, patience: float) -> None:
    while not _has_ended(store, run_id):
        passed = time.perf_counter() - begun
        if passed > patience:
            run = store.inspector.run(run_id)
            raise RuntimeError(f"{run_id} is {run.status} after {patience:.0f} s; it waits for {run.waiting_for}")
        # A look uses the same processor and database, so there are few: the time is told within one percent.
        time.sleep(min(0.25, max(0.002, passed / 100)))
    run = store.inspector.run(run_id)
    if run.status != "completed":
        raise RuntimeError(f"{run_id} ended {run.status} ({run.status_code}): {run.error}")


def _has_ended(store: Store, run_id: str) -> bool:
    """Look at one column, since a look at the whole run would cost as much as a turn."""
    with store.database.read() as connection:
        ((finished_at,),) = driver.fetch(connection, _FINISHED_AT, {"run_id": run_id})
    return finished_at is not None
