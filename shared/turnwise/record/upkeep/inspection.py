"""The whole record at once, row by row, for those who check it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database.rows import names
from turnwise.record.database.schema import metadata
from turnwise.record.runs.base import StoreBase
from turnwise.record.runs.records import Json

_TABLES = {table.name: sa.select(table).order_by(*table.primary_key.columns) for table in metadata.sorted_tables}


class Inspection(StoreBase):
    """Reads tables as they are; meant for records of a size that fits into memory."""

    def everything(self, *without: str) -> dict[str, list[Json]]:
        """The rows of every table in the order of their keys, but for the tables named in `without`."""
        found: dict[str, list[Json]] = {}
        with self.database.read() as connection:
            for name, statement in _TABLES.items():
                if name not in without:
                    found[name] = _rows(connection, statement)
        return found

    def table(self, name: str) -> list[Json]:
        """The rows of one table in the order of their keys."""
        with self.database.read() as connection:
            return _rows(connection, _TABLES[name])


def _rows(connection: Connection, statement: sa.Select[Any]) -> list[Json]:
    keys = names(tuple(statement.selected_columns))  # type: ignore[arg-type]
    return [dict(zip(keys, row, strict=True)) for row in connection.execute(statement)]
