"""Statements of the hot path, handed to PostgreSQL's driver directly.

SQLAlchemy compiles a statement once; after that, what it does around each execution costs more than the driver's own
work. So on PostgreSQL the compiled text goes to the driver, with values converted as SQLAlchemy's types say. SQLite,
where it matters less, takes the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

Values = Mapping[str, Any]
Rows = list[tuple[Any, ...]]


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Rows:
    """The rows of a statement, with JSON read and money as `Decimal`."""
    driver = _driver(connection)
    if driver is None:
        return [tuple(row) for row in connection.execute(statement, values)]
    prepared = _prepared(statement, connection.dialect, ())
    return driver.execute(prepared.text, prepared.bound(values)).fetchall()


def run(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Execute a statement that gives no rows, once for each of `rows`; nothing for none."""
    if not rows:
        return
    driver = _driver(connection)
    if driver is None:
        connection.execute(statement, list(rows))
        return
    # An INSERT names the columns that it is given; the others say themselves what they set.
    keys = tuple(rows[0]) if isinstance(statement, sa.Insert) else ()
    prepared = _prepared(statement, connection.dialect, keys)
    # Not closed: in a pipeline its result comes later.
    cursor = driver.cursor()
    if len(rows) == 1:
        cursor.execute(prepared.text, prepared.bound(rows[0]))
    else:
        cursor.executemany(prepared.text, [prepared.bound(row) for row in rows])


class _Prepared:
    """The text for the driver, the values that are part of the statement, and how to convert the others."""

    def __init__(self, statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=list(keys) or None)  # type: ignore[attr-defined]
        self.text: str = compiled.string
        self._fixed = {name: bind.value for bind, name in compiled.bind_names.items() if not bind.required}
        self._convert: dict[str, Callable[[Any], Any] | None] = {
            name: bind.type.dialect_impl(dialect).bind_processor(dialect) for bind, name in compiled.bind_names.items()
        }

    def bound(self, values: Values) -> dict[str, Any]:
        """The statement's parameters."""
        given = {**self._fixed, **values} if self._fixed else values
        return {
            name: given[name] if convert is None else convert(given[name]) for name, convert in self._convert.items()
        }


@lru_cache(maxsize=512)
def _prepared(statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> _Prepared:
    return _Prepared(statement, dialect, keys)


def _driver(connection: Connection) -> psycopg.Connection[Any] | None:
    if connection.dialect.name != "postgresql":
        return None
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
