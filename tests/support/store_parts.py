"""Runs, asks and workers for the store's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from tests.support.kept_values import happen

from turnwise.base.ids import new_id
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import Claim, Json, NewAsk, NewRun, RunRecord


def new_run(**changes: Any) -> NewRun:
    """A run that nothing else knows."""
    return replace(NewRun(id=new_id("run"), task="triage", version="1", message={"content": "hello"}), **changes)


def new_ask(queue: str | None, *, turn: int = 1, frame_no: int = 1, **changes: Any) -> NewAsk:
    """An ask of an LLM, or of a human where `queue` is None."""
    ask = NewAsk(
        id=f"ask-{frame_no}-{turn}",
        frame_no=frame_no,
        path="triage",
        agent="triage",
        responder="user" if queue is None else "llm",
        queue=queue,
        turn=turn,
        candidate=1,
        message_id="doc-1",
    )
    return replace(ask, **changes)


def asked_run(store: Store, queue: str | None, *, run: dict[str, Any] | None = None, **ask: Any) -> RunRecord:
    """A run that waits for one ask on `queue`; one of a session goes on with its conversation."""
    given = dict(run or {})
    made, _ = store.tenant(given.pop("tenant", DEFAULT_TENANT)).submit(new_run(**given))
    with store.coordinator.locked(made.id) as transaction:
        transaction.take_up_conversation()
        transaction.push_frame("triage", {"step": 0})
        transaction.put_document("doc-1", {"content": "hello"})
        asking = new_ask(queue, **ask)
        transaction.add_ask(asking)
        happen(transaction, "turn.asked", ask_id=asking.id, data={"document": "doc-1"})
        transaction.change(status=RunStatus.RUNNING, awaiting=asking.id, move_due_at=None)
        return transaction.run


def begun_run(store: Store, session: str, *, tenant: str = DEFAULT_TENANT, **changes: Any) -> RunRecord:
    """A run that has begun to go on with the conversation of `session`."""
    made, _ = store.tenant(tenant).submit(new_run(session_id=session, **changes))
    with store.coordinator.locked(made.id) as transaction:
        transaction.take_up_conversation()
        transaction.change(status=RunStatus.RUNNING, move_due_at=None)
        return transaction.run


def remembered(store: Store, run: RunRecord, key: str = "triage") -> list[Json]:
    """The whole history of an agent as the run sees it, as the messages' bodies."""
    with store.coordinator.locked(run.id) as transaction:
        return [transaction.history_row(key, idx).body for idx in range(transaction.agent(key).history_len)]


def new_worker(store: Store, queue: str) -> str:
    """A living worker's id."""
    return store.process.register_worker(WorkerInfo(kind="llm", queues=(queue,), host="here", pid=1, version="1"))


def claimed(store: Store, queue: str, worker: str) -> Claim:
    """The claim of the best ask of the queue, which has one."""
    claim = store.worker.claim(queue, worker)
    assert claim is not None
    return claim


def lose(store: Store, claim: Claim) -> None:
    """Let the claim's worker end without a word, and sweep until nobody holds its ask for it.

    One pass takes over a hundred asks, and tests that share the PostgreSQL database may have left more than that.
    """
    store.process.retire_worker(claim.worker_id)
    while _is_held(store, claim):
        store.coordinator.expire_leases()


def _is_held(store: Store, claim: Claim) -> bool:
    with store.coordinator.locked(claim.ask.run_id) as transaction:
        ask = transaction.ask(claim.ask.id)
    return ask is not None and ask.status == "leased" and ask.worker_id == claim.worker_id


@contextmanager
def damaged(store: Store, run_id: str) -> Iterator[None]:
    """Have a run's row be one that no program can read, for a while."""

    def write(value: str) -> None:
        with store.database.begin() as connection:
            statement = sa.text("UPDATE runs SET waiting_for = :value WHERE id = :id")
            connection.execute(statement, {"value": value, "id": run_id})

    write('"x"')
    yield
    write("null")


def new_queue() -> str:
    """A queue of the test's own, because tests share the PostgreSQL database."""
    return new_id("queue")
