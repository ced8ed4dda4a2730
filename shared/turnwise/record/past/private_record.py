"""A record of its own, in a file that no one else sees, in which a run is made again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from turnwise.record.database import driver, schema
from turnwise.record.database.database import Database
from turnwise.record.database.database_url import file_url
from turnwise.record.database.rows import AGENT, RUN, agent_of, run_of
from turnwise.record.database.schema import asks, documents, events, frames, runs
from turnwise.record.database.status_statements import change_asks, update_runs
from turnwise.record.past.export import own_fields
from turnwise.record.past.reconstruction import Past
from turnwise.record.past.restore import ExportedRecord, write_agent, write_asks, write_past
from turnwise.record.states import AskStatus, RunStatus, passed
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import kept_error
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import AgentRecord, FrameRecord, Json, ReplyRecord

# Of the run's row: what it was when it was accepted.
_GIVEN = (
    *("id", "tenant", "task", "priority", "tags", "metadata", "message", "turns", "max_turns"),
    *("max_cost", "max_tokens", "created_at", "started_at"),
)
_EVENT = ("type", "path", "turn", "try_no", "ask_id", "data", "document")
_EVENTS = (
    sa.select(*(events.c[name] for name in _EVENT[:-1]), documents.c.body)
    .select_from(events.outerjoin(documents, documents.c.id == events.c.document_id))
    .order_by(events.c.seq)
)
_CLAIM = change_asks(AskStatus.LEASED, AskStatus.RUNNABLE).where(asks.c.id == sa.bindparam("of_ask"))
_BODIES = sa.select(documents.c.id, documents.c.body, documents.c.parent_id)


class PrivateRecord:
    """Holds one run at a time; a context manager, which takes its file with it."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="turnwise-replay-")
        self._database = Database(file_url(Path(self._directory.name) / "run.db"))
        with self._database.begin() as connection:
            schema.metadata.create_all(connection)
        self._run_id = ""
        self._written: list[str] = []

    def __enter__(self) -> PrivateRecord:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        self._directory.cleanup()

    def begin(self, record: ExportedRecord, past: Past, version: str) -> None:
        """Have the run as it was at `past`, as one of that version, in place of any other."""
        self._run_id = record.run["id"]
        row: Json = {"version": version}
        row |= {name: own_fields(record.run)[name] for name in _GIVEN}
        status = passed(None, RunStatus.RUNNING if past.started else RunStatus.QUEUED)
        row |= {"status": status, "last_frame": past.last_frame}
        row |= {
            "started_at": row["started_at"] if past.started else None,
            "last_document": len(record.found["documents"]),
        }
        row |= {"awaiting": past.awaiting, "cost": past.cost}
        with self._database.begin() as connection:
            for table in reversed(schema.metadata.sorted_tables):
                connection.execute(sa.delete(table))
            connection.execute(sa.insert(runs), row)
            write_past(connection, record, past, self._run_id)
            if past.awaiting is not None:
                open_again = {"status": passed(None, AskStatus.OPEN), "worker_id": None, "closed_at": None}
                write_asks(connection, self._run_id, [record.ask(past.awaiting) | open_again])

    def take_over(self, record: ExportedRecord, past: Past, keys: Mapping[str, Any]) -> None:
        """Have these agents as they were at `past`, with their histories."""
        with self._database.begin() as connection:
            for key in keys:
                write_agent(connection, self._run_id, past.agents[key], record.history(past, key))

    def move(
        self,
        past: Past,
        at: float,
        reply: tuple[Json, Json | None] | None,
        make: Callable[[RunTransaction], Any],
    ) -> list[Json]:
        """Make the next move at that time, with what had been used, and the reply and its document if there was one.

        Gives the events that were written, with the bodies of the documents that they name as `document`.
        """
        given = {"cost": past.cost, "prompt_tokens": past.tokens, "last_seq": 0}
        given |= {"cancel_requested_at": at if past.killed else None, "deadline_at": at if past.late else None}
        with self._database.begin() as connection:
            connection.execute(update_runs().values(given))
            connection.execute(sa.delete(events))
            rows = driver.fetch(connection, sa.select(*RUN), {})
            known = KnownRun(run=run_of(rows[0]), time=at, read_at=0.0)
            transaction = RunTransaction(self._database, RunLock(connection), known, at)
            if reply is not None:
                _answer(transaction, *reply)
            make(transaction)
            transaction.flush()
            rows = driver.fetch(connection, _EVENTS, {})
            self._written = transaction.documents_written()
        return [dict(zip(_EVENT, row, strict=True)) for row in rows]

    def frames(self) -> dict[int, FrameRecord]:
        """The stack."""
        with self._database.read() as connection:
            rows = connection.execute(sa.select(frames.c.no, frames.c.path, frames.c.state))
            return {row[0]: FrameRecord(no=row[0], path=row[1], state=row[2]) for row in rows}

    def agents(self) -> dict[str, AgentRecord]:
        """The agents."""
        with self._database.read() as connection:
            return {row[0]: agent_of(row) for row in connection.execute(sa.select(*AGENT))}

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Give documents of the last move other ids, wherever they are named."""
        if not renamed:
            return
        with self._database.begin() as connection:
            for row in connection.execute(_BODIES.where(documents.c.id.in_(self._written))).all():
                new = dict(zip(("id", "body", "parent_id"), _other(list(row), renamed), strict=True))
                connection.execute(sa.update(documents).where(documents.c.id == row[0]).values(new))
            for no, frame in connection.execute(sa.select(frames.c.no, frames.c.state)).all():
                connection.execute(sa.update(frames).where(frames.c.no == no).values(state=_other(frame, renamed)))
            for old, new_id in renamed.items():
                connection.execute(sa.update(asks).where(asks.c.message_id == old).values(message_id=new_id))


def _answer(transaction: RunTransaction, row: Json, document: Json | None) -> None:
    if document is not None and row["document_id"] is not None:
        transaction.put_document(row["document_id"], document, (document.get("metadata") or {}).get("parent_id"))
    known = {field.name for field in fields(ReplyRecord)}
    kept = {name: value for name, value in row.items() if name in known}
    # The replies were given to workers; here the ask has none, and goes by the same statuses. One that is open, as a
    # human's is and the first of a stretch, stays so: nothing is changed then.
    transaction.connection.execute(_CLAIM, {"of_ask": row["ask_id"]})
    accepted = {"run_id": transaction.run.id, "accepted": True, "reason": None, "cost": None}
    accepted["error"] = kept_error(row["error"])
    transaction.add_reply(ReplyRecord(**(kept | accepted)))


def _other(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return renamed.get(value, value)
    if isinstance(value, list):
        return [_other(item, renamed) for item in value]
    if isinstance(value, dict):
        return {key: _other(item, renamed) for key, item in value.items()}
    return value
