"""A run with all that is kept of it, as one JSON document.

    {"format": 1, "run": {...}, "events": [...], "documents": [...], "asks": [...], "replies": [...],
     "receipts": [...], "histories": [...]}

The members are the rows, with money as decimal strings; events come with their `changes`. A row of a history says whose
it is (`run`, or `session` for what the run continued with), and in `aside` the epoch that began when it was cut off,
null for one that was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.money import decimal_string
from turnwise.errors import InvalidRequestError
from turnwise.record.database.rows import as_row, names
from turnwise.record.database.schema import agent_states, asks, documents, events, histories, receipts, replies, runs
from turnwise.record.past.reconstruction import Pasts
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.session_queue import lock_session
from turnwise.record.transaction.writes import aside
from turnwise.record.values.records import Json, RunRecord

FORMAT = 1
_SHARED = 500  # names in one statement
_HISTORY = ("key", "idx", "role", "body", "tokens", "total", "document_id")
_PARTS: tuple[tuple[sa.Table, tuple[str, ...]], ...] = (
    (events, ("seq",)),
    (documents, ("no",)),
    (asks, ("created_at", "id")),
    (replies, ("at", "ask_id", "token")),
    (receipts, ("at", "ask_id", "call_no")),
)


class Exports(RecordPart):
    """Reads whole runs."""

    def export(self, run_id: str) -> Json:
        """Everything that is kept of a run, as of one moment; raises `NotFoundError`."""
        with self._locked(run_id) as transaction:
            return read_run(transaction.connection, transaction.run)


def read_run(connection: Connection, run: RunRecord) -> Json:
    """The export of a run whose row is locked."""
    made: Json = {"format": FORMAT, "run": plain(as_row(run.changed(uncounted=None)))}
    del made["run"]["uncounted"]  # is no one's but the record's own
    for table, order in _PARTS:
        made[table.name] = list(_rows(connection, table, run.id, order))
    made["histories"] = list(_histories(connection, run, made["events"]))
    return made


def checked(found: Any) -> Json:
    """Return what was read from a file, if it is an export that this program knows; raises `InvalidRequestError`."""
    if not isinstance(found, dict) or "format" not in found or "run" not in found:
        raise InvalidRequestError("this is not an exported run; make one with `turnwise export RUN -o FILE.json`")
    if found["format"] != FORMAT:
        raise InvalidRequestError(
            f"this run was exported in format {found['format']!r}; this program reads {FORMAT}: install the version "
            "that wrote it, or export it again"
        )
    lists = (*(table.name for table, _ in _PARTS), "histories")
    damaged = [name for name in lists if not isinstance(found.get(name), list)]
    if not isinstance(found["run"], dict):
        damaged.insert(0, "run")
    if damaged:
        raise InvalidRequestError(
            f"this exported run is damaged, it has no readable {', '.join(damaged)}; export it again"
        )
    return found


def plain(row: Json) -> Json:
    """A row as JSON: money as text."""
    return {key: decimal_string(value) if isinstance(value, Decimal) else value for key, value in row.items()}


def _rows(connection: Connection, table: sa.Table, run_id: str, order: Sequence[str]) -> Iterator[Json]:
    columns = [column for column in table.c if column.name != "run_id"]
    statement = sa.select(*columns).where(table.c.run_id == run_id).order_by(*(table.c[name] for name in order))
    for row in connection.execute(statement):
        yield plain(dict(zip(names(columns), row, strict=True)))


def _histories(connection: Connection, run: RunRecord, found: Sequence[Json]) -> Iterator[Json]:
    """The rows of the run's own, and those of its session's conversation that it may have continued with or left."""
    pasts = Pasts(found)
    newest, begun = pasts.all[-1].agents, pasts.all[-1].begun
    last = max((agent.history_epoch for agent in newest.values()), default=0)
    # An agent that the session did not know began with epoch 0.
    first = min((begun[key].history_epoch if key in begun else 0 for key in newest), default=0)
    yield from _of_owner(connection, run.id, "run", range(first + 1, last + 1))
    if run.conversation_id is None:
        return
    # The end of a later run moves rows to an epoch that is not known yet; it waits for this lock.
    lock_session(connection, run)
    at = sa.select(sa.func.max(agent_states.c.history_epoch)).where(agent_states.c.owner == run.conversation_id)
    newest_epoch = connection.execute(at).scalar_one_or_none() or 0
    most = max((agent.history_len for state in pasts.all for agent in state.agents.values()), default=0)
    yield from _of_owner(connection, run.conversation_id, "session", range(first + 1, newest_epoch + 1), most)


def _of_owner(
    connection: Connection, owner: str, whose: str, epochs: Iterable[int], most: int | None = None
) -> Iterator[Json]:
    owners: dict[str, int | None] = {owner: None, **{aside(owner, epoch): epoch for epoch in epochs}}
    left = iter(owners)
    while part := list(islice(left, _SHARED)):
        columns = [histories.c[name] for name in _HISTORY]
        statement = sa.select(histories.c.owner, *columns).where(histories.c.owner.in_(part))
        if most is not None:
            statement = statement.where(histories.c.idx < most)
        for row in connection.execute(statement.order_by(histories.c.key, histories.c.idx)):
            yield {"of": whose, "aside": owners[row[0]], **dict(zip(_HISTORY, row[1:], strict=True))}


def own_fields(row: Json) -> Json:
    """A row of an export as it is written again: money as `Decimal`."""
    money = {column.name for table in (runs, replies) for column in table.c if "Money" in type(column.type).__name__}
    return {key: Decimal(value) if key in money and value is not None else value for key, value in row.items()}
