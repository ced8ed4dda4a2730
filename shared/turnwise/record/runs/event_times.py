"""The queries of a timeline."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from turnwise.record.database.rows import ASK, ask_of, field_names
from turnwise.record.database.schema import asks, events
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.records import AskRecord, EventRecord

# Without the documents, which would be most of what is read.
_EVENT = tuple(column for column in events.c if column.name not in ("document_id", "changes"))
_NAMES = field_names(_EVENT)
_EVENTS = (
    sa.select(*_EVENT)
    .where(
        events.c.run_id == sa.bindparam("run_id"),
        events.c.seq > sa.bindparam("after"),
        events.c.type.in_(sa.bindparam("types", expanding=True)),
    )
    .order_by(events.c.seq)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_ASK = sa.select(*ASK).where(asks.c.run_id == sa.bindparam("run_id"), asks.c.id == sa.bindparam("ask_id"))


class RunTimes(RecordPart):
    """Reads without locks."""

    def events_of(self, run_id: str, types: Collection[str], after: int = 0, limit: int = 1_000) -> list[EventRecord]:
        """A run's events of these types with numbers above `after`, in order, without their documents."""
        given = {"run_id": run_id, "types": list(types), "after": after, "most": limit}
        with self._database.read() as connection:
            rows = connection.execute(self._own(_EVENTS, events.c.run_id), given).all()
        return [EventRecord(**dict(zip(_NAMES, row, strict=True))) for row in rows]

    def ask_of_run(self, run_id: str, ask_id: str) -> AskRecord | None:
        """An ask as it is now; None if there is none of that id."""
        given = {"run_id": run_id, "ask_id": ask_id}
        with self._database.read() as connection:
            row = connection.execute(self._own(_ASK, asks.c.run_id), given).first()
        return None if row is None else ask_of(row)
