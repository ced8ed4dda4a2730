"""Statements of the hot path, handed to the database's driver directly.

SQLAlchemy compiles a statement once; after that, what it does around each execution costs more than the driver's own
work. So the compiled text goes to the driver, with values converted as SQLAlchemy's types say: those that are given,
and on SQLite, whose driver knows neither JSON nor money, also those that are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Protocol

import psycopg
import sqlalchemy as sa
from psycopg.types.numeric import Int8Dumper
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.types import TypeEngine

from turnwise.base.json_value import Json, JsonValue
from turnwise.record.database.columns import dump_json

Values = Mapping[str, Any]
Rows = list[tuple[Any, ...]]

# As SQLAlchemy marks a value in PostgreSQL's text.
PARAMETER = re.compile(r"%\((\w+)\)s")


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Rows:
    """The rows of a statement, with JSON read and money as `Decimal`."""
    driver, dialect = driver_of(connection)
    prepared = prepared_for(statement, dialect, ())
    if dialect is not _SQLITE:
        rows: Rows = raw_cursor(connection).execute(prepared.numbered, prepared.in_order(values)).fetchall()
        return rows
    return prepared.read(driver.execute(prepared.text, prepared.bound(values)).fetchall())


class Changed(Protocol):
    """The rows that a statement has changed."""

    @property
    def rowcount(self) -> int:
        """Return how many they are."""
        ...


def run(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Execute a statement that gives no rows, once for each of `rows`; nothing for none."""
    if rows:
        driver, dialect = driver_of(connection)
        run_on(driver.cursor(), dialect, statement, rows)


def run_on(cursor: Any, dialect: Dialect, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Do what `run` does with a cursor of the driver, for many statements one after the other."""
    # An INSERT names the columns that it is given; the others say themselves what they set.
    keys = tuple(rows[0]) if isinstance(statement, sa.Insert) else ()
    prepared = prepared_for(statement, dialect, keys)
    if len(rows) == 1:
        cursor.execute(prepared.text, prepared.bound(rows[0]))
    else:
        cursor.executemany(prepared.text, [prepared.bound(row) for row in rows])


def run_one(connection: Connection, statement: sa.Executable, values: Values) -> Changed:
    """Execute a statement that gives no rows once."""
    driver, dialect = driver_of(connection)
    prepared = prepared_for(statement, dialect, ())
    changed: Changed = driver.cursor().execute(prepared.text, prepared.bound(values))
    return changed


class Prepared:
    """The text for the driver, the names of its values in the order of the text, and how to convert them.

    PostgreSQL's text marks a value as `%(name)s`, so that texts can be combined; SQLite's with a question mark.
    """

    def __init__(self, statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=list(keys) or None)  # type: ignore[attr-defined]
        self.text: str = compiled.string
        types = {name: bind.type for bind, name in compiled.bind_names.items()}
        self.names: tuple[str, ...] = tuple(compiled.positiontup if compiled.positional else types)
        self._fixed = {name: bind.value for bind, name in compiled.bind_names.items() if not bind.required}
        converters = [_converter(types[name], dialect) for name in self.names]
        self._convert = [(at, convert) for at, convert in enumerate(converters) if convert is not None]
        named = not compiled.positional
        # In one call, because a turn has two hundred values. Of one name it would be the bare value.
        self._pick = itemgetter(*self.names) if len(self.names) > 1 else None
        self._read = _readers(statement, dialect) if dialect is _SQLITE else []

        # The statement's parameters as the driver takes them: by name or in order, as the text says.
        self.bound: Callable[[Values], Any] = self._by_name if named else self.in_order

    @cached_property
    def numbered(self) -> bytes:
        """PostgreSQL's text with `$1` for the first of `names`, as the server takes it."""
        place = {name: f"${no}" for no, name in enumerate(self.names, 1)}
        return PARAMETER.sub(lambda found: place[found[1]], self.text).replace("%%", "%").encode()

    def in_order(self, values: Values) -> list[Any]:
        """The statement's parameters in the order of `names`."""
        given = {**self._fixed, **values} if self._fixed else values
        row = list(self._pick(given)) if self._pick is not None else [given[name] for name in self.names]
        for at, convert in self._convert:
            if (value := row[at]) is not None:  # which is NULL for every type of the record
                row[at] = convert(value)
        return row

    def _by_name(self, values: Values) -> Json:
        return dict(zip(self.names, self.in_order(values), strict=True))

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


def _converter(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return what makes a value of a type one for the driver; None if it can be left as it is."""
    if isinstance(kind, sa.JSON) and kind.none_as_null:
        # PostgreSQL's text casts it. The wrapper that SQLAlchemy gives to psycopg costs more than the encoding.
        return _as_json
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _as_json(value: Any) -> str:
    return dump_json(value.as_json() if isinstance(value, JsonValue) else value)


def _readers(statement: sa.Executable, dialect: Dialect) -> list[tuple[int, Callable[[Any], Any]]]:
    """Return what has to be done to which column of the statement's rows."""
    columns = (
        statement.selected_columns if isinstance(statement, sa.Select) else getattr(statement, "exported_columns", ())
    )
    readers = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    return [(at, reader) for at, reader in enumerate(readers) if reader is not None]


@lru_cache(maxsize=512)
def prepared_for(statement: sa.Executable, dialect: Dialect, keys: tuple[str, ...]) -> Prepared:
    return Prepared(statement, dialect, keys)


def raw_cursor(connection: Connection) -> Any:
    """PostgreSQL's cursor of this connection that takes `$1` for a parameter, as the server does.

    One cursor serves all statements, one after the other, and none has to be translated each time.
    """
    cursor = connection.info.get("raw_cursor")
    if cursor is None:
        of_driver: Any = connection.connection.driver_connection
        cursor = connection.info["raw_cursor"] = psycopg.RawCursor(of_driver)
        # One type for all integers: a type that goes by the value would be another prepared statement for each.
        cursor.adapters.register_dumper(int, Int8Dumper)
    return cursor


# As `Database` has it.
_SQLITE: Dialect = sqlite.dialect(paramstyle="qmark", json_serializer=dump_json)


def driver_of(connection: Connection) -> tuple[Any, Dialect]:
    """The driver's connection and the dialect that it understands."""
    driver = connection.connection.driver_connection
    return driver, connection.dialect if connection.dialect.name == "postgresql" else _SQLITE
