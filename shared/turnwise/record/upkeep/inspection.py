"""The record as it is, for tests, the simulator and whoever looks into a database; of all tenants."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.asks.parking import PARKED
from turnwise.record.database import schema
from turnwise.record.database.columns import word
from turnwise.record.database.rows import names
from turnwise.record.database.schema import asks, documents, histories, metadata, runs
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.writes import aside
from turnwise.record.values.records import Json

_OPEN = asks.c.status == word(AskStatus.OPEN)
_OWNERS = (
    runs.c.id,
    *(column for table in schema.metadata.tables.values() for column in table.c if column.name == "run_id"),
)
_TABLES = {table.name: sa.select(table).order_by(*table.primary_key.columns) for table in metadata.sorted_tables}


class Inspection(RecordPart):
    """Reads tables as they are; meant for records of a size that fits into memory."""

    def everything(self, *without: str) -> dict[str, list[Json]]:
        """The rows of every table in the order of their keys, but for the tables named in `without`."""
        found: dict[str, list[Json]] = {}
        with self._database.read() as connection:
            for name, statement in _TABLES.items():
                if name not in without:
                    found[name] = _rows(connection, statement)
        return found

    def table(self, name: str) -> list[Json]:
        """The rows of one table in the order of their keys."""
        with self._database.read() as connection:
            return _rows(connection, _TABLES[name])

    def open_question_count(self) -> int:
        """Return how many questions and parked asks wait for a human."""
        with self._database.read() as connection:
            # Two statements, so that each can use its partial index.
            counts = [sa.select(sa.func.count()).select_from(asks).where(which) for which in (_OPEN, PARKED)]
            return sum(int(connection.execute(statement).scalar_one()) for statement in counts)

    def transcript_documents(self, run_id: str) -> list[Json]:
        """The bodies of a run's documents in the order in which they were made."""
        statement = sa.select(documents.c.body).where(documents.c.run_id == run_id).order_by(documents.c.no)
        with self._database.read() as connection:
            return list(connection.execute(statement).scalars())

    def run_counts(self) -> dict[str, int]:
        """Return how many runs have each status that occurs."""
        with self._database.read() as connection:
            rows = connection.execute(sa.select(runs.c.status, sa.func.count()).group_by(runs.c.status))
            return {row[0]: row[1] for row in rows}

    def bytes_stored(self, run_id: str) -> int:
        """Bytes of all rows of a run, without indexes; on SQLite the length of their values as text.

        Rows that it shares with other runs of a session are not counted.
        """
        with self._database.read() as connection:
            total = 0
            for owner in _OWNERS:
                table = owner.table
                if self._database.is_postgres:
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


def _rows(connection: Connection, statement: sa.Select[Any]) -> list[Json]:
    keys = names(tuple(statement.selected_columns))  # type: ignore[arg-type]
    return [dict(zip(keys, row, strict=True)) for row in connection.execute(statement)]
