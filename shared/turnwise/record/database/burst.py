"""Writes that reach the database together.

PostgreSQL gets one statement, each write a data-modifying CTE of it, so that they cost one round trip and one plan.
SQLite, which is in this process, gets one after the other. The writes must be independent of each other: within one
statement none of them sees what another has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

from turnwise.record.database import driver
from turnwise.record.database.driver import Values

# What `turnwise_require_one` raises; a migration makes that function.
_MISSED = "TW001"
# Of a statement that inserts many rows: with more it takes no less time for each.
_MOST_ROWS = 100
_MOST_CHARACTERS = 1_000_000


class Write(NamedTuple):
    """A statement that gives no rows, executed once for each of `rows`, of which there is at least one; all have the
    same keys.

    With `missed`, the statement has to change exactly one row; `missed` makes the error that is raised otherwise, from
    the number of rows that it changed.
    """

    statement: sa.Executable
    rows: Sequence[Values]
    missed: Callable[[int], Exception] | None = None


def write_all(connection: Connection, writes: Sequence[Write]) -> None:
    """Execute all of them, or raise; nothing for none.

    On a connection in a transaction, that is to be rolled back after an error. PostgreSQL executes all or nothing also
    on a connection that commits by itself.
    """
    if not writes:
        return
    if connection.dialect.name == "postgresql":
        _write_as_one(connection, [_without_nulls(write) for write in writes])
        return
    of_driver, dialect = driver.driver_of(connection)
    cursor = of_driver.cursor()
    for statement, rows, missed in writes:
        driver.run_on(cursor, dialect, statement, rows)
        if missed is not None and cursor.rowcount != 1:
            raise missed(cursor.rowcount)


def insert_all(connection: Connection, statement: sa.Insert, rows: Sequence[Values]) -> None:
    """Insert any number of rows, which have the same keys; nothing for none.

    PostgreSQL gets up to a hundred with each statement, or a million characters: it answers each statement, and this
    process waits for that.
    """
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        driver.run(connection, statement, rows)
        return
    part = _Part(statement, tuple(rows[0]), connection.dialect)
    cursor = driver.raw_cursor(connection)
    for together in _divided(part.values(row) for row in rows):
        text, _ = part.text(len(together), 0)
        cursor.execute(text.encode(), [value for values in together for value in values])


def _divided(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    """The rows of each statement, as values for the driver; a row that is larger than a statement is alone in one."""
    together: list[list[Any]] = []
    characters = 0
    for values in rows:
        more = sum(len(value) for value in values if isinstance(value, str))
        if together and (len(together) == _MOST_ROWS or characters + more > _MOST_CHARACTERS):
            yield together
            together, characters = [], 0
        together.append(values)
        characters += more
    if together:
        yield together


def _without_nulls(write: Write) -> Write:
    """Leave out the columns that are NULL in all rows, as they are by default: fewer values have to be sent."""
    rows = write.rows
    if not isinstance(write.statement, sa.Insert):
        return write
    if len(rows) == 1:
        return write._replace(rows=[{name: value for name, value in rows[0].items() if value is not None}])
    given = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return write._replace(rows=[{name: row[name] for name in given} for row in rows])


def _write_as_one(connection: Connection, writes: Sequence[Write]) -> None:
    shape = tuple(
        (
            write.statement,
            tuple(write.rows[0]) if isinstance(write.statement, sa.Insert) else (),
            len(write.rows),
            write.missed is not None,
        )
        for write in writes
    )
    made = _combined(shape, connection.dialect)
    try:
        driver.raw_cursor(connection).execute(made.text, made.bound(writes), prepare=True)
    except psycopg.DatabaseError as error:
        if error.sqlstate != _MISSED:
            raise
        missed = writes[int(error.diag.message_detail or 0)].missed
        assert missed is not None, "only such a write is counted"
        raise missed(int(error.diag.message_hint or 0)) from None


_Shape = tuple[tuple[sa.Executable, tuple[str, ...], int, bool], ...]


class _Combined:
    """The text of one statement for the writes of a shape, and how their values become its parameters."""

    def __init__(self, shape: _Shape, dialect: Dialect) -> None:
        self._parts = [_Part(statement, keys, dialect) for statement, keys, _, _ in shape]
        given = 0
        parts, counts = [], []
        for no, (part, (_, _, rows, counted)) in enumerate(zip(self._parts, shape, strict=True)):
            text, given = part.text(rows, given)
            parts.append(f"w{no} AS ({text}{' RETURNING 1' if counted else ''})")
            if counted:
                counts.append(f"turnwise_require_one((SELECT count(*) FROM w{no}), {no})")
        self.text = f"WITH {', '.join(parts)} SELECT {', '.join(counts) or '1'}".encode()

    def bound(self, writes: Sequence[Write]) -> list[Any]:
        """The statement's parameters, in order."""
        values: list[Any] = []
        for part, write in zip(self._parts, writes, strict=True):
            for row in write.rows:
                values += part.values(row)
        return values


class _Part:
    """One write, compiled; an INSERT may have several rows."""

    def __init__(self, statement: sa.Executable, keys: tuple[str, ...], dialect: Dialect) -> None:
        self._prepared = driver.prepared_for(statement, dialect, keys)
        text = self._prepared.text
        self._head, self._row, self._tail = "", text, ""
        if isinstance(statement, sa.Insert):
            start = text.index(" VALUES (") + len(" VALUES ")
            end = text.find(" ON CONFLICT", start)
            end = len(text) if end < 0 else end
            self._head, self._row, self._tail = text[:start], text[start:end], text[end:]
        assert not driver.PARAMETER.search(self._tail), "what a conflict changes comes from the row"
        self._place = {name: no for no, name in enumerate(self._prepared.names)}

    def text(self, rows: int, given: int) -> tuple[str, int]:
        """The write's SQL for so many rows, its parameters numbered from `given` + 1; and the last number."""
        made = []
        for _ in range(rows):
            first = given + 1
            made.append(driver.PARAMETER.sub(lambda found, first=first: f"${first + self._place[found[1]]}", self._row))  # type: ignore[misc]
            given += len(self._place)
        return f"{self._head}{', '.join(made)}{self._tail}".replace("%%", "%"), given

    def values(self, row: Values) -> list[Any]:
        """The parameters of one row."""
        return self._prepared.in_order(row)


@lru_cache(maxsize=1024)
def _combined(shape: _Shape, dialect: Dialect) -> _Combined:
    return _Combined(shape, dialect)
