"""The queries of observers."""

from __future__ import annotations

import base64
import binascii
import re

import sqlalchemy as sa

from turnwise.errors import InvalidRequestError
from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.asks.worker_records import QueueStat, WorkerRecord
from turnwise.record.budgets.provider_windows import CLOSED
from turnwise.record.database import schema
from turnwise.record.database.columns import now, word
from turnwise.record.database.rows import RUN, field_names, names, run_of
from turnwise.record.database.schema import agent_states, asks, documents, events, frames, histories, runs, workers
from turnwise.record.runs.base import StoreBase, unknown_run
from turnwise.record.runs.records import EventRecord, FrameRecord, HistoryRow, Json, RunFilter, RunRecord
from turnwise.record.runs.session_queue import earlier_documents
from turnwise.record.runs.writes import aside
from turnwise.record.states import AskStatus

_EVENT = tuple(column for column in events.c if column.name not in ("document_id", "changes"))
_EVENT_NAMES = (*field_names(_EVENT), "document")
_EVENTS = (
    sa.select(*_EVENT, documents.c.body)
    .select_from(events)
    .outerjoin(documents, sa.and_(documents.c.run_id == events.c.run_id, documents.c.id == events.c.document_id))
    .where(events.c.run_id == sa.bindparam("run_id"), events.c.seq > sa.bindparam("after"))
    .order_by(events.c.seq)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_HISTORY = tuple(histories.c[name] for name in ("idx", "role", "body", "tokens", "total", "document_id"))
_WORKER_NAMES = names(tuple(workers.c))
# No one says of a worker that it is dead while no coordinator sweeps, so its own silence does.
_silent = sa.and_(
    workers.c.state == word("alive"), workers.c.lease_until < now() - sa.bindparam("lease", type_=sa.Double)
)
_WORKERS = sa.select(
    *(sa.case((_silent, word("dead")), else_=c).label(c.name) if c is workers.c.state else c for c in workers.c)
).order_by(workers.c.id.desc())
# What waits for a provider that has no room, or is paused, is no work for another worker.
_later = sa.or_(asks.c.due_at > now(), asks.c.bucket.in_(CLOSED))
_paused = sa.and_(asks.c.status == word(AskStatus.RUNNABLE), ASK_IS_ONE_OF_THE_PAUSED)
_delayed = sa.and_(
    asks.c.status == word(AskStatus.RUNNABLE), sa.not_(ASK_IS_ONE_OF_THE_PAUSED), sa.func.coalesce(_later, sa.false())
)
_free = sa.and_(
    asks.c.status == word(AskStatus.RUNNABLE),
    sa.not_(ASK_IS_ONE_OF_THE_PAUSED),
    sa.not_(sa.func.coalesce(_later, sa.false())),
)
_QUEUES = (
    sa.select(
        asks.c.queue,
        sa.func.sum(sa.case((_free, 1), else_=0)),
        sa.func.sum(sa.case((asks.c.status == word(AskStatus.LEASED), 1), else_=0)),
        sa.func.sum(sa.case((_delayed, 1), else_=0)),
        sa.func.sum(sa.case((_paused, 1), else_=0)),
        now() - sa.func.min(sa.case((_free, sa.func.coalesce(asks.c.due_at, asks.c.created_at)))),
    )
    # Two conditions, so that each can use its partial index.
    .where(
        sa.or_(asks.c.status == word(AskStatus.RUNNABLE), asks.c.status == word(AskStatus.LEASED)),
        asks.c.queue.is_not(None),
    )
    .group_by(asks.c.queue)
    .order_by(asks.c.queue)
)
_LEASED_BY = (
    sa.select(asks.c.worker_id, sa.func.count())
    .where(asks.c.status == word(AskStatus.LEASED), asks.c.worker_id.is_not(None))
    .group_by(asks.c.worker_id)
)
# What an error may be named by, from the general to the special.
_ERROR_PARTS = ("kind", "code", "type")
_OWNERS = (
    runs.c.id,
    *(column for table in schema.metadata.tables.values() for column in table.c if column.name == "run_id"),
)


class Queries(StoreBase):
    """Reads without locks."""

    def run(self, run_id: str) -> RunRecord:
        """A run; `NotFoundError` if there is none."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(*RUN).where(runs.c.id == run_id)).first()
        run = run_of(row) if row is not None else None
        if run is None or not self.has(run.tenant):
            raise unknown_run(run_id)
        return run

    def runs(
        self, filters: RunFilter | None = None, cursor: str | None = None, limit: int = 50
    ) -> tuple[list[RunRecord], str | None]:
        """Runs, newest first, and the cursor of the next page or None.

        Raises `InvalidRequestError` for a cursor that is none.
        """
        conditions = self._conditions(filters or RunFilter())
        if cursor is not None:
            conditions.append(runs.c.id < _decode(cursor))
        statement = sa.select(*RUN).where(*conditions).order_by(runs.c.id.desc()).limit(limit + 1)
        with self.database.read() as connection:
            found = [run_of(row) for row in connection.execute(statement)]
        return found[:limit], _encode(found[limit - 1].id) if len(found) > limit else None

    def events(self, run_id: str, after: int = 0, limit: int = 500) -> list[EventRecord]:
        """A run's events with numbers above `after`, in order, each with the document that it names."""
        with self.database.read() as connection:
            rows = connection.execute(
                self.own(_EVENTS, events.c.run_id), {"run_id": run_id, "after": after, "most": limit}
            ).all()
        return [EventRecord(**dict(zip(_EVENT_NAMES, row, strict=True))) for row in rows]

    def document(self, run_id: str, document_id: str) -> Json | None:
        """The body of one document of a run, None if there is none of that id."""
        statement = sa.select(documents.c.body).where(documents.c.run_id == run_id, documents.c.id == document_id)
        with self.database.read() as connection:
            return connection.execute(self.own(statement, documents.c.run_id)).scalar_one_or_none()

    def earlier_document(self, run: RunRecord, document_id: str) -> Json | None:
        """The body of a document of an earlier run of the same conversation, None if there is none of that id."""
        with self.database.read() as connection:
            return earlier_documents(connection, run, [document_id]).get(document_id)

    def transcript_documents(self, run_id: str) -> list[Json]:
        """The bodies of a run's documents in the order in which they were made."""
        statement = sa.select(documents.c.body).where(documents.c.run_id == run_id).order_by(documents.c.no)
        with self.database.read() as connection:
            return list(connection.execute(statement).scalars())

    def history(
        self,
        owner: str,
        key: str,
        *,
        max_tokens: int | None = None,
        after_idx: int = -1,
        before_idx: int | None = None,
    ) -> list[HistoryRow]:
        """An agent's history between the two indexes: the longest end of it that is within `max_tokens`, in order.

        What is kept under `owner`, the id of a run or of a session's conversation: a run of a session keeps what it
        has added (`AgentRecord.base_len`).
        """
        conditions = [histories.c.owner == owner, histories.c.key == key, histories.c.idx > after_idx]
        if before_idx is not None:
            conditions.append(histories.c.idx < before_idx)
        if max_tokens is not None:
            everything = sa.select(agent_states.c.history_tokens).where(
                agent_states.c.owner == owner, agent_states.c.key == key
            )
            least = everything.scalar_subquery() - max_tokens
            # The first condition is what the index knows; the second drops the row that is only partly within.
            conditions += [histories.c.total >= least, histories.c.total - histories.c.tokens >= least]
        with self.database.read() as connection:
            rows = connection.execute(sa.select(*_HISTORY).where(*conditions).order_by(histories.c.idx))
            return [HistoryRow(**dict(zip(names(_HISTORY), row, strict=True))) for row in rows]

    def frames_of(self, run_id: str) -> list[FrameRecord]:
        """The stack of tasks of a run, outermost first."""
        statement = sa.select(frames.c.no, frames.c.path, frames.c.state).where(frames.c.run_id == run_id)
        with self.database.read() as connection:
            rows = connection.execute(self.own(statement, frames.c.run_id).order_by(frames.c.no))
            return [FrameRecord(no=row[0], path=row[1], state=row[2]) for row in rows]

    def queue_stats(self) -> list[QueueStat]:
        """Every queue that holds asks."""
        with self.database.read() as connection:
            rows = connection.execute(self.own(_QUEUES, asks.c.run_id)).all()
        return [
            QueueStat(
                queue=row[0],
                runnable=row[1],
                leased=row[2],
                delayed=row[3],
                paused=row[4],
                oldest_age=max(row[5] or 0.0, 0.0),
            )
            for row in rows
        ]

    def workers(self, state: str | None = None) -> list[WorkerRecord]:
        """Worker incarnations, newest first, in one state or in any; one silent for two leases is dead."""
        with self.database.read() as connection:
            rows = connection.execute(_WORKERS, {"lease": self.lease_seconds}).all()
        found = [WorkerRecord(**dict(zip(_WORKER_NAMES, row, strict=True))) for row in rows]
        return [worker for worker in found if state is None or worker.state == state]

    def leased_by_worker(self) -> dict[str, int]:
        """Return how many asks each worker holds; workers that hold none are left out."""
        with self.database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_LEASED_BY)}

    def run_counts(self) -> dict[str, int]:
        """Return how many runs have each status that occurs."""
        with self.database.read() as connection:
            rows = connection.execute(sa.select(runs.c.status, sa.func.count()).group_by(runs.c.status))
            return {row[0]: row[1] for row in rows}

    def bytes_stored(self, run_id: str) -> int:
        """Bytes of all rows of a run, without indexes; on SQLite the length of their values as text.

        What it shares with other runs of a session is not counted.
        """
        with self.database.read() as connection:
            total = 0
            for owner in _OWNERS:
                table = owner.table
                if self.database.is_postgres:
                    size: sa.ColumnElement[int] = sa.func.pg_column_size(sa.literal_column(f"{table.name}.*"))
                else:
                    lengths = [sa.func.coalesce(sa.func.length(sa.cast(c, sa.Text)), 0) for c in table.c]
                    size = sum(lengths[1:], lengths[0])
                is_own = owner == run_id
                if table is histories:  # what was cut off it, too
                    is_own = is_own | owner.startswith(aside(run_id, ""), autoescape=True)
                found = connection.execute(sa.select(sa.func.sum(size)).select_from(table).where(is_own))
                total += int(found.scalar_one() or 0)
        return total

    def _conditions(self, filters: RunFilter) -> list[sa.ColumnElement[bool]]:
        made: list[sa.ColumnElement[bool]] = [runs.c.tenant == self.tenant] if self.tenant is not None else []
        for column, value in (
            (runs.c.tenant, filters.tenant),
            (runs.c.status, filters.status),
            (runs.c.task, filters.task),
            (runs.c.session_id, filters.session_id),
        ):
            if value is not None:
                made.append(column == value)
        if filters.created_after is not None:
            made.append(runs.c.created_at > filters.created_after)
        if filters.created_before is not None:
            made.append(runs.c.created_at <= filters.created_before)
        if filters.statuses is not None:
            made.append(runs.c.status.in_([word(status) for status in filters.statuses]))
        if filters.finished_after is not None:
            made.append(runs.c.finished_at > filters.finished_after)
        if filters.errors is not None:
            made.append(sa.or_(*(runs.c.error[part].as_string().in_(filters.errors) for part in _ERROR_PARTS)))
        if filters.tag is not None:
            made.append(self._has_tag(filters.tag))
        return made

    def _has_tag(self, tag: str) -> sa.ColumnElement[bool]:
        if self.database.is_postgres:
            return runs.c.tags.op("@>", is_comparison=True)(sa.cast([tag], runs.c.tags.type))
        each = sa.func.json_each(runs.c.tags).table_valued("value")
        return sa.exists().where(each.c.value == tag)


_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def _encode(run_id: str) -> str:
    return base64.urlsafe_b64encode(run_id.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        run_id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        run_id = ""
    if not _RUN_ID.fullmatch(run_id):
        raise InvalidRequestError(
            f"invalid cursor {cursor!r}: it was not issued by this server; leave it out to start over"
        )
    return run_id
