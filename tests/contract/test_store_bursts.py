"""Writes that reach the database together are all done, or none is."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from turnwise.errors import RunChangedError
from turnwise.record.database import driver
from turnwise.record.database.burst import Write, insert_all, write_all
from turnwise.record.database.schema import documents, schema_support
from turnwise.record.store import Store

_INSERT = sa.insert(documents)
_SUPPORT = (
    sa.update(schema_support)
    .where(schema_support.c.id == sa.bindparam("of_id", type_=sa.Integer))
    .values(oldest_program=schema_support.c.oldest_program)
)


def _row(name: str, body: object = None) -> dict[str, object]:
    return {"run_id": "run_burst", "id": name, "no": 1, "parent_id": None, "body": body or {}, "created_at": 1.5}


def _found(store: Store) -> dict[str, object]:
    query = sa.select(documents.c.id, documents.c.body).where(documents.c.run_id == "run_burst")
    with store.database.read() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


@pytest.fixture
def support(store: Store) -> int:
    with store.database.read() as connection:
        return int(connection.execute(sa.select(schema_support.c.id)).scalar_one())


@pytest.fixture(autouse=True)
def _tidy(store: Store) -> None:
    with store.database.begin() as connection:
        connection.execute(sa.delete(documents).where(documents.c.run_id == "run_burst"))


def test_all_are_written_with_their_values(store: Store, support: int) -> None:
    told = {"text": "50 % of %(name)s and $1, ümlaut, \u2028", "deep": [1, {"a": None}]}
    one = Write(_SUPPORT, [{"of_id": support}], RuntimeError)

    with store.database.statement() as connection:
        write_all(connection, [one, Write(_INSERT, [_row("a", told), _row("b")]), Write(_INSERT, [_row("c")])])

    assert _found(store) == {"a": told, "b": {}, "c": {}}


@pytest.mark.parametrize("at", [0, 1])
def test_one_that_misses_its_row_leaves_nothing_of_the_others(store: Store, support: int, at: int) -> None:
    seen: list[int] = []

    def missed(changed: int) -> Exception:
        seen.append(changed)
        return RunChangedError("it is another")

    writes = [Write(_SUPPORT, [{"of_id": support}], RuntimeError), Write(_INSERT, [_row("a"), _row("b")])]
    writes.insert(at, Write(_SUPPORT, [{"of_id": support + 1}], missed))

    with pytest.raises(RunChangedError, match="another"), store.database.statement() as connection:
        write_all(connection, writes)

    assert seen == [0]
    assert _found(store) == {}


def test_nothing_to_write_is_nothing_done(store: Store) -> None:
    with store.database.statement() as connection:
        write_all(connection, [])


@pytest.mark.parametrize("count", [0, 1, 100, 101, 250])
def test_any_number_of_rows_is_inserted(store: Store, count: int) -> None:
    # The parent is NULL in some rows of a statement, in all of another, and in none of a third.
    rows = [_row(f"d{no:03}", {"no": no}) | {"parent_id": f"p{no}" if no % 200 < 50 else None} for no in range(count)]

    with store.database.begin() as connection:
        insert_all(connection, _INSERT, rows)

    assert _found(store) == {f"d{no:03}": {"no": no} for no in range(count)}
    with store.database.read() as connection:
        parents = sa.select(documents.c.id, documents.c.parent_id).where(documents.c.run_id == "run_burst")
        assert dict(map(tuple, connection.execute(parents))) == {row["id"]: row["parent_id"] for row in rows}


def test_rows_that_are_large_are_divided_among_statements(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_row(f"d{no}", {"text": "x" * size}) for no, size in enumerate([600_000, 600_000, 10, 1_200_000, 10])]
    sent: list[int] = []

    with store.database.begin() as connection:
        if store.database.is_postgres:
            monkeypatch.setitem(connection.info, "raw_cursor", _Noted(driver.raw_cursor(connection), sent))
        insert_all(connection, _INSERT, rows)

    assert _found(store) == {row["id"]: row["body"] for row in rows}
    assert not store.database.is_postgres or sent == [1, 2, 1, 1]


class _Noted:
    """A cursor that notes the number of rows of each statement."""

    def __init__(self, cursor: Any, sent: list[int]) -> None:
        self._cursor, self._sent = cursor, sent

    def execute(self, text: bytes, values: list[object]) -> None:
        self._sent.append(text.count(b"), (") + 1)
        self._cursor.execute(text, values)


def test_rows_are_inserted_all_or_not_at_all(store: Store) -> None:
    rows = [_row(f"d{no}") for no in range(150)]

    with pytest.raises(Exception, match=r"(?i)unique"), store.database.begin() as connection:
        insert_all(connection, _INSERT, [*rows, rows[0]])

    assert _found(store) == {}
