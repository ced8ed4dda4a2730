"""Statements of the hot path, handed to the database's driver directly.

SQLAlchemy compiles a statement once; after that, what it does around each execution costs more than the driver's own
work. So the compiled text goes to the driver, with values converted as SQLAlchemy's types say: those that are given,
and on SQLite, whose driver knows neither JSON nor money, also those that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection, Dialect

from turnwise.record.database.columns import dump_json

Values = Mapping[str, Any]
Rows = list[tuple[Any, ...]]


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Rows:
    """The rows of a statement, with JSON read and money as `Decimal`."""
    driver, dialect = _driver(connection)
    prepared = _prepared(statement, dialect, ())
    rows = driver.execute(prepared.text, prepared.bound(values)).fetchall()
    return rows if dialect is not _SQLITE else prepared.read(rows)


class Changed(Protocol):
    """The rows that a statement has changed; known once its pipeline, if it was in one, is closed."""

    @property
    def rowcount(self) -> int:
        """Return how many they are."""
        ...


def run(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Execute a statement that gives no rows, once for each of `rows`; nothing for none."""
    if not rows:
        return
    driver, dialect = _driver(connection)
    # An INSERT names the columns that it is given; the others say themselves what they set.
    keys = tuple(rows[0]) if isinstance(statement, sa.Insert) else ()
    prepared = _prepared(statement, dialect, keys)
    # Not closed: in a pipeline its result comes later.
    cursor = driver.cursor()
    if len(rows) == 1:
        cursor.execute(prepared.text, prepared.bound(rows[0]))
    else:
        cursor.executemany(prepared.text, [prepared.bound(row) for row in rows])


def run_one(connection: Connection, statement: sa.Executable, values: Values) -> Changed:
    """Execute a statement that gives no rows once."""
    driver, dialect = _driver(connection)
    prepared = _prepared(statement, dialect, ())
    changed: Changed = driver.cursor().execute(prepared.text, prepared.bound(values))
    return changed


class _Prepared:
    """The text for the driver, the values that are part of the statement, and how to convert the others."""

    def __init__(self, statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=list(keys) or None)  # type: ignore[attr-defined]
        self.text: str = compiled.string
        self._fixed = {name: bind.value for bind, name in compiled.bind_names.items() if not bind.required}
        self._convert: dict[str, Callable[[Any], Any] | None] = {
            name: bind.type.dialect_impl(dialect).bind_processor(dialect) for bind, name in compiled.bind_names.items()
        }
        self._read = _readers(statement, dialect) if dialect is _SQLITE else []

    def bound(self, values: Values) -> dict[str, Any]:
        """The statement's parameters."""
        given = {**self._fixed, **values} if self._fixed else values
        return {
            name: given[name] if convert is None else convert(given[name]) for name, convert in self._convert.items()
        }

    def read(self, rows: Rows) -> Rows:
        """Rows of SQLite's driver with the values that the statement's types stand for."""
        convert = self._read
        if not convert:
            return rows
        read = []
        for row in rows:
            values = list(row)
            for at, reader in convert:
                values[at] = reader(values[at])
            read.append(tuple(values))
        return read


def _readers(statement: sa.Executable, dialect: Dialect) -> list[tuple[int, Callable[[Any], Any]]]:
    """Return what has to be done to which column of the statement's rows."""
    columns = (
        statement.selected_columns if isinstance(statement, sa.Select) else getattr(statement, "exported_columns", ())
    )
    readers = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    return [(at, reader) for at, reader in enumerate(readers) if reader is not None]


@lru_cache(maxsize=512)
def _prepared(statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> _Prepared:
    return _Prepared(statement, dialect, keys)


# As `Database` has it, but that values are given by name.
_SQLITE: Dialect = sqlite.dialect(paramstyle="named", json_serializer=dump_json)


def _driver(connection: Connection) -> tuple[Any, Dialect]:
    """The driver's connection, in a transaction, and the dialect that it understands."""
    driver = connection.connection.driver_connection
    if connection.dialect.name == "postgresql":
        return driver, connection.dialect
    if not connection.in_transaction():
        connection.begin()
    return driver, _SQLITE
