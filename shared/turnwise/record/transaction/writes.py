"""The rows that a transaction has decided to write, and the few statements that write them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import RunChangedError
from turnwise.record.budgets.usage_tally import add_usage
from turnwise.record.database import driver, schema
from turnwise.record.database.burst import Write, write_all
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
from turnwise.record.database.status_statements import change_asks, illegal_transition, update_runs
from turnwise.record.states import UNANSWERED, AskStatus, RunStatus
from turnwise.record.values.records import Json, RunRecord

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
# As of a lost worker: its first call may have been made, of a later one the receipt says that it has begun.
_DOUBT = (
    sa.update(asks).where(asks.c.run_id == _param("of_run"), asks.c.id == _param("of_ask")).values(lost=asks.c.lost + 1)
)
_AGENT = ("record", "state", "history_len", "history_epoch", "history_tokens", "base_len")
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
def _update_run(columns: frozenset[str], conditions: tuple[sa.ColumnElement[bool], ...]) -> sa.Update:
    runs = schema.runs
    values: Json = {name: _param(f"new_{name}", type_=runs.c[name].type) for name in sorted(columns)}
    return (
        update_runs()
        .where(
            runs.c.id == _param("of_run", type_=sa.Text),
            runs.c.revision == _param("of_revision", type_=sa.BigInteger),
            *conditions,
        )
        .values(values)
    )


def aside(owner: str, epoch: int | str) -> str:
    """Under what the rows are kept that a cut took off the histories of `owner`; `epoch` began with the cut."""
    return f"{owner}#{epoch}"


class Writes:
    """Buffered writes of one run; nothing reaches the database before `flush`.

    The first is that of the run's row, on the condition that it has the revision of `run`.
    """

    def __init__(self, database: Database, run: RunRecord) -> None:
        self._database = database
        self.run_id, self._revision = run.id, run.revision
        self.documents: dict[str, Json] = {}
        self.events: list[Json] = []
        self.asks: list[Json] = []
        self.closed_asks: dict[str, AskStatus] = {}
        self.doubted_asks: list[str] = []
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
        # More conditions for the write of the run's row, and values for their parameters.
        self.conditions: tuple[sa.ColumnElement[bool], ...] = ()
        self.given: Json = {}
        # How much the run's revision is raised.
        self.raised = 0

    @property
    def are_several(self) -> bool:
        """Return whether these are not independent of each other, so that they take more than one statement."""
        return bool(self.cuts) or self.close_open_asks

    def flush(self, connection: Connection, now: float, run_values: Json) -> None:
        """Write everything; `run_values` are the run's changed columns.

        Raises `RunChangedError` if the run is another by now or a condition does not hold, `IllegalTransitionError` if
        a status could not be changed; nothing is written then that may be committed.
        """
        for key, keep, epoch in self.cuts:
            given = {"of_run": self.run_id, "of_key": key, "keep": keep, "aside": aside(self.run_id, epoch)}
            driver.run(connection, _CUT, [given])
        writes: list[Write] = []
        self._add_agents(writes)
        self._add_frames(writes)
        self._add_asks(writes, now)
        self._add_rest(writes)
        if writes or run_values:
            writes.insert(0, self._of_run(run_values))
            self.raised = 1
        if self.receipts:
            writes.append(Write(_upsert(self._database.insert, receipts, _RECEIPT), self.receipts))
        # Other runs of the tenant write these rows, too, so they are locked last.
        writes += [Write(add_usage(self._database.insert), [row]) for row in self.usage]
        write_all(connection, writes)
        if self.close_open_asks:
            driver.run(connection, _CLOSE_OPEN, [{"of_run": self.run_id, "at": now}])

    def _of_run(self, run_values: Json) -> Write:
        values = {f"new_{name}": value for name, value in run_values.items()}
        values |= {"of_run": self.run_id, "of_revision": self._revision} | self.given
        statement = _update_run(frozenset(run_values), self.conditions)
        if "status" in run_values and not self.conditions:
            return Write(statement, [values], self._missed(run_values["status"], self.run_id))
        return Write(
            statement,
            [values],
            lambda changed: RunChangedError(
                f"{changed} rows of the run {self.run_id} have the revision {self._revision}, not 1: it was changed "
                "meanwhile, or may not continue now; it is read again"
            ),
        )

    def _add_agents(self, writes: list[Write]) -> None:
        if self.set_aside:
            writes.append(Write(_insert(histories), self.set_aside))
        if self.histories and (rows := [row for rows in self.histories.values() for row in rows]):
            writes.append(Write(_insert(histories), rows))
        if self.agents:
            writes.append(Write(_upsert(self._database.insert, agent_states, _AGENT), list(self.agents.values())))

    def _add_frames(self, writes: list[Write]) -> None:
        for no in self.popped_frames:
            place = [{"of_run": self.run_id, "of_no": no}]
            writes += (Write(_POP_FRAME, place), Write(_POP_COUNTS, place))
        if self.new_frames:
            writes.append(Write(_insert(frames), list(self.new_frames.values())))
        for no, state in self.saved_frames.items():
            writes.append(Write(_SAVE_FRAME, [{"of_run": self.run_id, "of_no": no, "new_state": state}]))
        if self.counts:
            rows = [{"run_id": self.run_id, "frame_no": no, "key": key, "n": n} for (no, key), n in self.counts.items()]
            writes.append(Write(_upsert(self._database.insert, loop_counts, ("n",), add=True), rows))

    def _add_asks(self, writes: list[Write], now: float) -> None:
        for ask_id, status in self.closed_asks.items():
            of_ask = {"of_run": self.run_id, "of_ask": ask_id, "at": now}
            writes.append(Write(_CLOSE[status], [of_ask], self._missed(status, ask_id)))
        if self.doubted_asks:
            doubted = [{"of_run": self.run_id, "of_ask": ask_id} for ask_id in self.doubted_asks]
            writes.append(Write(_DOUBT, doubted))
        if self.asks:
            writes.append(Write(_insert(asks), self.asks))

    def _add_rest(self, writes: list[Write]) -> None:
        if self.replies:
            writes.append(Write(_insert(replies), self.replies))
        if self.documents:
            statement = _upsert(self._database.insert, documents, ("body", "parent_id"))
            writes.append(Write(statement, list(self.documents.values())))
        if self.events:
            writes.append(Write(_insert(events), self.events))

    def _missed(self, status: AskStatus | RunStatus, id: str) -> Callable[[int], Exception]:
        return lambda changed: illegal_transition(changed, status, id)


@cache
def _insert(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _upsert(insert: Any, table: sa.Table, columns: tuple[str, ...], add: bool = False) -> sa.Insert:
    statement = insert(table)
    changes = {name: table.c[name] + statement.excluded[name] if add else statement.excluded[name] for name in columns}
    made: sa.Insert = statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changes)
    return made
