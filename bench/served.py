"""Served runs: handed to the record as a gateway does, awaited until they end."""

from __future__ import annotations

import time
from collections.abc import Callable

import sqlalchemy as sa

from bench.counting import first_message, turns_of
from bench.processes import cpu_by_name, cpu_seconds, difference
from bench.result import Result
from bench.run_ends import Ends
from turnwise.app import App
from turnwise.base.ids import new_id
from turnwise.bus.base import Bus
from turnwise.messages.wire import encode_document
from turnwise.record.database import driver
from turnwise.record.database.schema import runs as runs_table
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.first_moves import FirstMoves
from turnwise.serving.moves.move import Mover
from turnwise.serving.observer import NO_OBSERVERS
from turnwise.tasks.entry import document_of

_PATIENCE = 600.0
_FINISHED_AT = sa.select(runs_table.c.finished_at).where(runs_table.c.id == sa.bindparam("run_id"))
_SERVERS = ("postgres", "beam.smp")


def first_moves(app: App) -> FirstMoves:
    """Return the maker of first moves for whoever accepts runs as a gateway does with `TURNWISE_MOVES=worker`."""
    return FirstMoves(Mover(app=app, llm_queues={}, agent_queues={}), allowed=True)


def measure(
    way: str,
    store: Store,
    bus: Bus,
    turns: int,
    conversations: int,
    pids: Callable[[], list[int]],
    *,
    ends: Ends | None = None,
    moves: FirstMoves | None = None,
) -> Result:
    """Run `conversations` loops of `turns` at once; raises `RuntimeError` if one does not complete."""
    own, servers = cpu_seconds(pids()), cpu_by_name(_SERVERS)
    runs, seconds = play(store, bus, turns, conversations, ends=ends, moves=moves)
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
    store: Store,
    bus: Bus,
    turns: int,
    conversations: int,
    patience: float = _PATIENCE,
    *,
    ends: Ends | None = None,
    moves: FirstMoves | None = None,
) -> tuple[list[str], float]:
    """Run the loops to their ends; return their ids and the seconds that passed.

    Without `ends` the record is looked at again and again. Without `moves` coordinators make the first moves.

    Raises `RuntimeError` if one does not complete.
    """
    begun = time.perf_counter()
    runs = [_submit(store, bus, turns, moves) for _ in range(conversations)]
    for run in runs:
        left = begun + patience - time.perf_counter()
        if not (_looked_for(store, run, begun, patience) if ends is None else ends.wait(run, left)):
            found = store.inspector.run(run)
            raise RuntimeError(f"{run} is {found.status} after {patience:.0f} s; it waits for {found.waiting_for}")
    seconds = time.perf_counter() - begun
    for run in runs:
        _check(store.inspector.run(run))
    return runs, seconds


def _submit(store: Store, bus: Bus, turns: int, moves: FirstMoves | None) -> str:
    new = NewRun(id=new_id("run"), task="loop", version="1", message=encode_document(document_of(first_message(turns))))
    tenant, moved = store.tenant(DEFAULT_TENANT), None
    if moves is None:
        tenant.submit(new)
    else:
        _, _, moved = moves.submit(tenant, new, Dispatcher(bus), NO_OBSERVERS)
    if moved is None:
        bus.wake(new.id)
    return new.id


def _looked_for(store: Store, run_id: str, begun: float, patience: float) -> bool:
    """Return whether the run ends before so many seconds have passed since `begun`."""
    while not _has_ended(store, run_id):
        passed = time.perf_counter() - begun
        if passed > patience:
            return False
        # A look uses the same processor and database, so there are few: the time is told within one percent.
        time.sleep(min(0.25, max(0.002, passed / 100)))
    return True


def _check(run: RunRecord) -> None:
    """Raise `RuntimeError` for a run that did not complete."""
    if run.status != "completed":
        raise RuntimeError(f"{run.id} ended {run.status} ({run.status_code}): {run.error}")


def _has_ended(store: Store, run_id: str) -> bool:
    """Look at one column, since a look at the whole run would cost as much as a turn."""
    with store.database.read() as connection:
        ((finished_at,),) = driver.fetch(connection, _FINISHED_AT, {"run_id": run_id})
    return finished_at is not None
