"""The queries of observers: runs, their events, stacks and documents. They read without locks."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa

from turnwise.errors import InvalidRequestError
from turnwise.record.database.columns import parts_of, text_bytes, word
from turnwise.record.database.rows import RUN, field_names, run_of
from turnwise.record.database.schema import documents, events, frames, runs
from turnwise.record.runs.text_search import TextSearch
from turnwise.record.transaction.part import RecordPart, unknown_run
from turnwise.record.values.records import EventRecord, FrameRecord, Json, RunFilter, RunRecord

_EVENT = tuple(column for column in events.c if column.name not in ("document_id", "changes"))
_EVENT_NAMES = (*field_names(_EVENT), "document")
_RUN = sa.bindparam("run_id", type_=sa.Text)
# A page of events ends behind the one that brings it to so many bytes of JSON: a reader keeps a page in memory.
PAGE_BYTES = 2_000_000


def _page(*conditions: sa.ColumnElement[bool], backwards: bool = False) -> sa.Select[Any]:
    """The query of a page. The database ends it: its driver would keep all that is found, however few rows are taken.

    The last column has the bytes up to and with the row.
    """
    size = text_bytes(events.c.data, documents.c.body)
    order = events.c.seq.desc() if backwards else events.c.seq
    found = (
        sa.select(*_EVENT, documents.c.body, size.label("bytes"), sa.func.sum(size).over(order_by=order).label("sum"))
        .select_from(events)
        .outerjoin(documents, sa.and_(documents.c.run_id == events.c.run_id, documents.c.id == events.c.document_id))
        .where(events.c.run_id == _RUN, *conditions)
        .order_by(order)
        .limit(sa.bindparam("most", type_=sa.Integer))
        .subquery("found")
    )
    return (
        sa.select(*(column for column in found.c if column.name != "bytes"))
        .where(found.c.sum - found.c.bytes < PAGE_BYTES)
        .order_by(found.c.seq.desc() if backwards else found.c.seq)
    )


_AFTER = events.c.seq > sa.bindparam("after")
_EVENTS = _page(_AFTER)
_EVENTS_BEFORE = _page(events.c.seq < sa.bindparam("before"), backwards=True)
_EVENTS_OF_TYPES = _page(_AFTER, events.c.type.in_(sa.bindparam("types", expanding=True)))
_ID = sa.select(runs.c.id).where(runs.c.id == sa.bindparam("run_id"))
# What an error may be named by, from the general to the special.
_ERROR_PARTS = ("kind", "code", "type")


class RunLookup(RecordPart):
    """Reads a run."""

    def run(self, run_id: str) -> RunRecord:
        """A run; `NotFoundError` if there is none."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(*RUN).where(runs.c.id == run_id)).first()
        run = run_of(row) if row is not None else None
        if run is None or not self._reach.includes(run.tenant):
            raise unknown_run(run_id)
        return run


class KnownRuns(RecordPart):
    """Tells which runs there are, and nothing of them."""

    def has_run(self, run_id: str) -> bool:
        """Return whether a run is on record."""
        with self._database.read() as connection:
            return connection.execute(self._own(_ID, runs.c.id), {"run_id": run_id}).first() is not None


class RunLists(RecordPart):
    """Reads runs by filters."""

    def runs(
        self, filters: RunFilter | None = None, cursor: str | None = None, limit: int = 50
    ) -> tuple[list[RunRecord], str | None]:
        """Runs, newest first, and the cursor of the next page or None.

        Raises `InvalidRequestError` for a cursor that is none. See `TextSearch` for a page of a search.
        """
        filters = filters or RunFilter()
        conditions = self._conditions(filters)
        before = None if cursor is None else _decode(cursor)
        if filters.text is not None:
            matching, last = TextSearch(self._database, self.clock, filters.text, conditions).page(before, limit)
            return matching, None if last is None else _encode(last)
        if before is not None:
            conditions.append(runs.c.id < before)
        statement = sa.select(*RUN).where(*conditions).order_by(runs.c.id.desc()).limit(limit + 1)
        with self._database.read() as connection:
            found = [run_of(row) for row in connection.execute(statement)]
        return found[:limit], _encode(found[limit - 1].id) if len(found) > limit else None

    def _conditions(self, filters: RunFilter) -> list[sa.ColumnElement[bool]]:
        made: list[sa.ColumnElement[bool]] = [*self._reach.where(runs.c.tenant)]
        for column, value in (
            (runs.c.tenant, filters.tenant),
            (runs.c.status, filters.status),
            (runs.c.task, filters.task),
            (runs.c.session_id, filters.session_id),
            (runs.c.batch_id, filters.batch),
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
            error = parts_of(runs.c.error)
            made.append(sa.or_(*(error[part].as_string().in_(filters.errors) for part in _ERROR_PARTS)))
        if filters.conversations is not None:
            made.append(parts_of(runs.c.message)["conversation"].as_string().in_(filters.conversations))
        if filters.tag is not None:
            made.append(self._has_tag(filters.tag))
        return made

    def _has_tag(self, tag: str) -> sa.ColumnElement[bool]:
        if self._database.is_postgres:
            return runs.c.tags.op("@>", is_comparison=True)(sa.cast([tag], runs.c.tags.type))
        each = sa.func.json_each(runs.c.tags).table_valued("value")
        return sa.exists().where(each.c.value == tag)


class FoundEvents(list[EventRecord]):
    """A page of a run's events, in order; `more`: there may be more on the side to which it was read."""

    def __init__(self, found: Iterable[EventRecord], *, more: bool) -> None:
        super().__init__(found)
        self.more = more


class RunContents(RecordPart):
    """Reads what hangs on a run."""

    def events(
        self,
        run_id: str,
        after: int = 0,
        limit: int = 500,
        *,
        before: int | None = None,
        types: Collection[str] | None = None,
    ) -> FoundEvents:
        """A run's events with numbers above `after`, in order, each with the document that it names.

        With `before`, the last `limit` events with numbers below it; else with `types`, those of these types only.
        There are fewer of them where they are large: see `PAGE_BYTES`. No page is empty while there is an event for it.
        """
        given: dict[str, object] = {"run_id": run_id, "after": after, "most": limit}
        statement = _EVENTS
        if before is not None:
            statement, given = _EVENTS_BEFORE, {"run_id": run_id, "before": before, "most": limit}
        elif types is not None:
            statement, given = _EVENTS_OF_TYPES, given | {"types": list(types)}
        with self._database.read() as connection:
            rows = connection.execute(self._own(statement, _RUN), given).all()
        more = len(rows) == limit or (bool(rows) and rows[-1][-1] >= PAGE_BYTES)
        return FoundEvents(map(_event, rows if before is None else reversed(rows)), more=more)

    def frames_of(self, run_id: str) -> list[FrameRecord]:
        """The stack of tasks of a run, outermost first."""
        statement = sa.select(frames.c.no, frames.c.path, frames.c.state).where(frames.c.run_id == run_id)
        with self._database.read() as connection:
            rows = connection.execute(self._own(statement, frames.c.run_id).order_by(frames.c.no))
            return [FrameRecord(no=row[0], path=row[1], state=row[2]) for row in rows]


class Documents(RecordPart):
    """Reads documents of a run."""

    def document(self, run_id: str, document_id: str) -> Json | None:
        """The body of one document of a run, None if there is none of that id."""
        statement = sa.select(documents.c.body).where(documents.c.run_id == run_id, documents.c.id == document_id)
        with self._database.read() as connection:
            return connection.execute(self._own(statement, documents.c.run_id)).scalar_one_or_none()


_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def _event(row: sa.Row[Any]) -> EventRecord:
    return EventRecord(**dict(zip(_EVENT_NAMES, row[:-1], strict=True)))


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
