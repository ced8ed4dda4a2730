"""The queries of whoever lets an agent answer: its history, and what was said in earlier runs of its session."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.rows import names
from turnwise.record.database.schema import histories
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.session_queue import earlier_documents
from turnwise.record.values.records import HistoryRow, Json, RunRecord

_HISTORY = tuple(histories.c[name] for name in ("idx", "role", "body", "tokens", "total", "document_id"))


class Histories(RecordPart):
    """Reads without locks."""

    def earlier_document(self, run: RunRecord, document_id: str) -> Json | None:
        """The body of a document of an earlier run of the same conversation, None if there is none of that id."""
        with self._database.read() as connection:
            return earlier_documents(connection, run, [document_id]).get(document_id)

    def history(
        self,
        owner: str,
        key: str,
        *,
        after_idx: int = -1,
        before_idx: int | None = None,
    ) -> list[HistoryRow]:
        """An agent's history between the two indexes, in order.

        The rows are those of `owner`, the id of a run or of a session's conversation: a run of a session keeps what it
        has added (`AgentRecord.base_len`).
        """
        conditions = [histories.c.owner == owner, histories.c.key == key, histories.c.idx > after_idx]
        if before_idx is not None:
            conditions.append(histories.c.idx < before_idx)
        with self._database.read() as connection:
            rows = connection.execute(sa.select(*_HISTORY).where(*conditions).order_by(histories.c.idx))
            return [HistoryRow(**dict(zip(names(_HISTORY), row, strict=True))) for row in rows]
