"""The rows that a transaction has decided to write, and the few statements that write them."""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.budgets.usage_tally import add_usage
from turnwise.record.database import driver, schema
from turnwise.record.database.database import Database
from turnwise.record.database.schema import (
    agent_states,
    asks,
    documents,
    events,
    frames,
    histories,
    loop_counts,
    receipts,
    replies,
)
from turnwise.record.database.status_statements import change_asks, require_one
from turnwise.record.runs.records import Json
from turnwise.record.states import UNANSWERED, AskStatus, RunStatus

_param = sa.bindparam
_CLOSE = {
    status: change_asks(status)
    .where(asks.c.run_id == _param("of_run"), asks.c.id == _param("of_ask"))
    .values(closed_at=_param("at"))
    for status in (AskStatus.ANSWERED, AskStatus.CANCELLED)
}
_CLOSE_OPEN = (
    change_asks(AskStatus.CANCELLED, *UNANSWERED)
    .where(asks.c.run_id == _param("of_run"))
    .values(closed_at=_param("at"))
)
_RECEIPT = ("token", "status", "result", "state", "record", "at", "worker_id")
_SAVE_FRAME = (
    sa.update(frames)
    .where(frames.c.run_id == _param("of_run"), frames.c.no == _param("of_no"))
    .values(state=_param("new_state"))
)
_POP_FRAME = sa.delete(frames).where(frames.c.run_id == _param("of_run"), frames.c.no == _param("of_no"))
_POP_COUNTS = sa.delete(loop_counts).where(
    loop_counts.c.run_id == _param("of_run"), loop_counts.c.frame_no == _param("of_no")
)
_CUT = (
    sa.update(histories)
    .where(
        histories.c.owner == _param("of_run"),
        histories.c.key == _param("of_key"),
        histories.c.idx >= _param("keep", type_=sa.Integer),
    )
    .values(owner=_param("aside"))
)


@cache
def _update_run(columns: frozenset[str]) -> sa.Update:
    values = {name: _param(f"new_{name}", type_=schema.runs.c[name].type) for name in sorted(columns)}
    return sa.update(schema.runs).where(schema.runs.c.id == _param("of_run")).values(values)


def aside(owner: str, epoch: int | str) -> str:
    """Under what the rows are kept that a cut took off the histories of `owner`; `epoch` began with the cut."""
    return f"{owner}#{epoch}"


class Writes:
    """Buffered writes of one run; nothing reaches the database before `flush`."""

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self.documents: dict[str, Json] = {}
        self.events: list[Json] = []
        self.asks: list[Json] = []
        self.closed_asks: dict[str, AskStatus] = {}
        self.close_open_asks = False
        self.replies: list[Json] = []
        self.receipts: list[Json] = []
        self.new_frames: dict[int, Json] = {}
        self.saved_frames: dict[int, Json] = {}
        self.popped_frames: list[int] = []
        self.agents: dict[str, Json] = {}
        self.cuts: list[tuple[str, int, int]] = []  # key, rows to keep, the epoch that begins with it
        self.set_aside: list[Json] = []
        self.histories: dict[str, list[Json]] = {}
        self.counts: dict[tuple[int, str], int] = {}
        self.usage: list[Json] = []
        self._changed: list[tuple[driver.Changed, AskStatus | RunStatus, str]] = []

    def flush(self, connection: Connection, now: float, run_values: Json) -> None:
        """Write everything; `run_values` are the run's changed columns."""
        with self._database.pipeline(connection):
            self._flush_agents(connection)
            self._flush_frames(connection)
            self._flush_asks(connection, now)
            self._insert(connection, replies, self.replies)
            self._upsert(connection, receipts, self.receipts, _RECEIPT)
            self._upsert(connection, documents, list(self.documents.values()), ("body", "parent_id"))
            self._insert(connection, events, self.events)
            if run_values:
                values = {f"new_{name}": value for name, value in run_values.items()}
                of_run = values | {"of_run": self._run_id}
                changed = driver.run_one(connection, _update_run(frozenset(run_values)), of_run)
                if "status" in run_values:
                    self._changed.append((changed, run_values["status"], self._run_id))
            # Other runs of the tenant write these rows, too, so they are locked last.
            driver.run(connection, add_usage(self._database.insert), self.usage)
        # The rows were read under the run's lock, so each has changed; in the pipeline no one knew yet.
        for changed, status, id in self._changed:
            require_one(changed.rowcount, status, id)

    def _flush_agents(self, connection: Connection) -> None:
        for key, keep, epoch in self.cuts:
            given = {"of_run": self._run_id, "of_key": key, "keep": keep, "aside": aside(self._run_id, epoch)}
            driver.run(connection, _CUT, [given])
        self._insert(connection, histories, self.set_aside)
        self._insert(connection, histories, [row for rows in self.histories.values() for row in rows])
        changing = ("record", "state", "history_len", "history_epoch", "history_tokens", "base_len")
        self._upsert(connection, agent_states, list(self.agents.values()), changing)

    def _flush_frames(self, connection: Connection) -> None:
        for no in self.popped_frames:
            driver.run(connection, _POP_FRAME, [{"of_run": self._run_id, "of_no": no}])
            driver.run(connection, _POP_COUNTS, [{"of_run": self._run_id, "of_no": no}])
        self._insert(connection, frames, list(self.new_frames.values()))
        for no, state in self.saved_frames.items():
            driver.run(connection, _SAVE_FRAME, [{"of_run": self._run_id, "of_no": no, "new_state": state}])
        counts = [{"run_id": self._run_id, "frame_no": no, "key": key, "n": n} for (no, key), n in self.counts.items()]
        self._upsert(connection, loop_counts, counts, ("n",), add=True)

    def _flush_asks(self, connection: Connection, now: float) -> None:
        for ask_id, status in self.closed_asks.items():
            of_ask = {"of_run": self._run_id, "of_ask": ask_id, "at": now}
            closed = driver.run_one(connection, _CLOSE[status], of_ask)
            self._changed.append((closed, status, ask_id))
        if self.close_open_asks:
            driver.run(connection, _CLOSE_OPEN, [{"of_run": self._run_id, "at": now}])
        self._insert(connection, asks, self.asks)

    def _insert(self, connection: Connection, table: sa.Table, rows: list[Json]) -> None:
        driver.run(connection, _insert(table), rows)

    def _upsert(
        self, connection: Connection, table: sa.Table, rows: list[Json], columns: tuple[str, ...], add: bool = False
    ) -> None:
        driver.run(connection, _upsert(self._database.insert, table, columns, add), rows)


@cache
def _insert(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _upsert(insert: Any, table: sa.Table, columns: tuple[str, ...], add: bool) -> sa.Insert:
    statement = insert(table)
    changes = {name: table.c[name] + statement.excluded[name] if add else statement.excluded[name] for name in columns}
    made: sa.Insert = statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changes)
    return made
