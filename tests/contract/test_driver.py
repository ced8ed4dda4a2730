"""Statements that go to the driver directly write and read what SQLAlchemy would."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from turnwise.errors import UnwritableError
from turnwise.record.database import driver
from turnwise.record.database.columns import Document, Money, Seconds, Tags, dump_json
from turnwise.record.database.database import Database
from turnwise.record.states import RunStatus

_TABLE = sa.Table(
    "driver_values",
    sa.MetaData(),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("n", sa.BigInteger),
    sa.Column("at", Seconds),
    sa.Column("cost", Money),
    sa.Column("body", Document),
    sa.Column("tags", Tags),
    sa.Column("done", sa.Boolean),
)
_NULLS = {"n": None, "at": None, "cost": None, "body": None, "tags": None, "done": None}
_ROWS: list[dict[str, Any]] = [
    {"id": "nulls", **_NULLS},
    {"id": "small", **_NULLS, "n": 1, "at": 1.0, "cost": Decimal("0.1"), "body": {}, "tags": {"a": "b"}, "done": True},
    {"id": "large", **_NULLS, "n": 2**40, "at": 1e-9, "cost": Decimal("123456789.000000001"), "done": False},
    {"id": "not objects", **_NULLS, "body": [1, None, "two", 3.5], "tags": []},
    {"id": "falsy", **_NULLS, "n": 0, "at": 0.0, "cost": Decimal(0), "body": 0, "tags": ""},
    {"id": "text'; -- %s :n ?", **_NULLS, "body": {"quote": "\"'\\ %(n)s", "é": "☃\ud800"}},
    {"id": RunStatus.COMPLETED, **_NULLS},
]
_OF_ID = sa.select(*_TABLE.c).where(_TABLE.c.id == sa.bindparam("of_id"))
_PUT = (
    sa.update(_TABLE)
    # `twice` stands in the text twice, and `fixed` belongs to the statement.
    .where(_TABLE.c.id == sa.bindparam("of_id"), sa.bindparam("fixed", 1) == 1)
    .values(n=sa.bindparam("twice", type_=sa.BigInteger) + sa.bindparam("twice", type_=sa.BigInteger), body={"made": 1})
)


@pytest.fixture
def with_table(database: Database) -> Iterator[Database]:
    with database.begin() as connection:
        _TABLE.create(connection)
    yield database
    with database.begin() as connection:
        _TABLE.drop(connection)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: str(row["id"]))
def test_a_row_is_read_as_it_was_written(with_table: Database, row: dict[str, Any]) -> None:
    with with_table.begin() as connection:
        driver.run(connection, sa.insert(_TABLE), [row])
        [found] = driver.fetch(connection, _OF_ID, {"of_id": row["id"]})
        by_sqlalchemy = connection.execute(_OF_ID, {"of_id": row["id"]}).one()

    assert dict(zip(row, found, strict=True)) == row
    assert tuple(by_sqlalchemy) == found


def test_a_row_is_stored_as_sqlalchemy_stores_it(with_table: Database) -> None:
    stored = sa.text("SELECT n, at, cost, CAST(body AS TEXT), CAST(tags AS TEXT), done FROM driver_values ORDER BY id")
    with with_table.begin() as connection:
        driver.run(connection, sa.insert(_TABLE), _ROWS)
        by_driver = connection.execute(stored).all()
        connection.execute(sa.delete(_TABLE))
        connection.execute(sa.insert(_TABLE), _ROWS)
        by_sqlalchemy = connection.execute(stored).all()

    assert by_driver == by_sqlalchemy


def test_a_value_may_be_named_twice_and_another_be_the_statements_own(with_table: Database) -> None:
    with with_table.begin() as connection:
        driver.run(connection, sa.insert(_TABLE), _ROWS)
        changed = driver.run_one(connection, _PUT, {"of_id": "small", "twice": 21})
        unchanged = driver.run_one(connection, _PUT, {"of_id": "small", "twice": 1, "fixed": 2})
        [found] = driver.fetch(connection, _OF_ID, {"of_id": "small"})

    assert (changed.rowcount, unchanged.rowcount) == (1, 0)
    assert (found[1], found[4]) == (42, {"made": 1})


def test_no_rows_are_no_statement(with_table: Database) -> None:
    with with_table.begin() as connection:
        driver.run(connection, sa.insert(_TABLE), [])

        assert driver.fetch(connection, sa.select(_TABLE.c.id), {}) == []


def test_a_row_that_cannot_be_kept_leaves_nothing(with_table: Database) -> None:
    row = {"id": "bad", **_NULLS, "body": {"at": float("nan")}}
    with pytest.raises(UnwritableError), with_table.begin() as connection:
        driver.run(connection, sa.insert(_TABLE), [_ROWS[0], row])

    with with_table.read() as connection:
        assert driver.fetch(connection, sa.select(_TABLE.c.id), {}) == []


def test_json_that_holds_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["me"] = circle
    with pytest.raises(UnwritableError):
        dump_json(circle)


def test_json_is_compact_and_only_half_a_pair_is_escaped() -> None:
    assert dump_json({"a": [1, None, "é"], "b": {}}) == '{"a":[1,null,"é"],"b":{}}'
    assert dump_json(["é", "\ud800"]) == '["\\u00e9","\\ud800"]'
