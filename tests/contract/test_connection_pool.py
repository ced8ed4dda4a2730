"""Connections that stay open, and what becomes of them when something fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite

from turnwise.errors import DatabaseUnavailableError, TurnwiseError
from turnwise.record.database import driver
from turnwise.record.database.database import Database
from turnwise.record.database.faults import is_intact

_TABLE = sa.Table("kept", sa.MetaData(), sa.Column("id", sa.Text, primary_key=True))
_PUT = sa.insert(_TABLE)
_ALL = sa.select(_TABLE.c.id).order_by(_TABLE.c.id)
Way = Callable[[Database], AbstractContextManager[Connection]]
_EITHER_WAY = pytest.mark.parametrize("way", [Database.begin, Database.read], ids=["begin", "read"])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def lone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with one connection, two of SQLite."""
    if request.param == "postgres":
        made = Database(request.getfixturevalue("postgres_url"), pool_size=1)
    else:
        fresh_sqlite(tmp_path / "record.db").close()
        made = Database(f"sqlite:///{tmp_path / 'record.db'}", pool_size=1)
    with made.begin() as connection:
        _TABLE.create(connection)
    yield made
    with made.begin() as connection:
        _TABLE.drop(connection)
    made.close()


def _kept(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(_ALL).scalars())


@pytest.mark.parametrize("by_driver", [False, True], ids=["sqlalchemy", "driver"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_undoes_the_transaction_and_nothing_of_it_reaches_the_next(
    lone: Database, by_driver: bool, error: type[BaseException]
) -> None:
    def put(connection: Connection, id: str) -> None:
        if by_driver:
            driver.run(connection, _PUT, [{"id": id}])
        else:
            connection.execute(_PUT, {"id": id})

    with pytest.raises(error), lone.begin() as connection:
        put(connection, "undone")
        raise error
    with lone.begin() as connection:
        put(connection, "done")

    assert _kept(lone) == ["done"]
    assert lone.pool.in_use == 0


@pytest.mark.parametrize("by_driver", [False, True], ids=["sqlalchemy", "driver"])
def test_a_statement_that_failed_leaves_a_connection_that_works(lone: Database, by_driver: bool) -> None:
    with pytest.raises(Exception, match=r"UNIQUE|unique"), lone.begin() as connection:
        for _ in range(2):
            if by_driver:
                driver.run(connection, _PUT, [{"id": "twice"}])
            else:
                connection.execute(_PUT, {"id": "twice"})
    with lone.begin() as connection:
        driver.run(connection, _PUT, [{"id": "once"}])

    assert _kept(lone) == ["once"]


@_EITHER_WAY
def test_a_connection_is_used_again(lone: Database, way: Way) -> None:
    found = set()
    for _ in range(3):
        with way(lone) as connection:
            found.add(id(connection.connection.driver_connection))

    assert len(found) == 1


def test_a_writer_reads_and_a_reader_writes_with_the_only_connection(lone: Database) -> None:
    for id in ("a", "b"):
        with lone.begin() as connection:
            connection.execute(_PUT, {"id": id})
        assert id in _kept(lone)


def test_each_statement_of_a_reader_sees_the_newest_state(lone: Database, tmp_path: Path) -> None:
    other = Database(lone.url.render_as_string(hide_password=False))
    with lone.read() as connection:
        before = driver.fetch(connection, _ALL, {})
        with other.begin() as writer:
            driver.run(writer, _PUT, [{"id": "new"}])
        after = driver.fetch(connection, _ALL, {})
    other.close()

    assert (before, after) == ([], [("new",)])


def test_who_finds_no_connection_gets_one_that_is_given_back(lone: Database) -> None:
    waits: list[tuple[float, bool]] = []
    waiting = threading.Event()
    lone.pool.limit = 1

    def read_late() -> None:
        waiting.set()
        with lone.read() as connection:
            connection.execute(_ALL)

    lone.pool.on_wait = lambda seconds, served: waits.append((seconds, served))
    reader = threading.Thread(target=read_late)
    with lone.read():
        reader.start()
        waiting.wait(10)
        while not lone.pool.waiting:
            assert reader.is_alive()
    reader.join(10)

    assert [served for _, served in waits] == [True]
    assert lone.pool.in_use == 0


@_EITHER_WAY
def test_a_wait_in_vain_takes_no_place(lone: Database, way: Way) -> None:
    lone.pool.limit = 1
    lone.pool.timeout = 0.01
    with lone.read(), pytest.raises(DatabaseUnavailableError, match="all 1 connections"), way(lone):
        pass

    assert _kept(lone) == []
    assert lone.pool.in_use == 0


def test_uses_are_told_in_pairs_whatever_happens(lone: Database) -> None:
    told: list[int] = []
    lone.pool.on_use(told.append)
    with lone.read():
        pass
    with pytest.raises(ValueError), lone.begin():
        raise ValueError
    with pytest.raises(Exception, match="nowhere"), lone.read() as connection:
        connection.execute(sa.text("SELECT 1 FROM nowhere"))

    assert told == [1, -1] * 3


def test_a_closed_pool_closes_what_comes_back_and_opens_anew(lone: Database) -> None:
    with lone.read() as connection:
        lone.close()
        first = connection.connection.driver_connection
        connection.execute(_ALL)
    with lone.read() as connection:
        second = connection.connection.driver_connection
        assert connection.execute(_ALL).all() == []

    assert first is not second
    with pytest.raises(Exception, match="closed"):
        first.execute("SELECT 1")  # type: ignore[union-attr]


@pytest.mark.postgres
@pytest.mark.parametrize("first", [Database.begin, Database.read], ids=["begin first", "read first"])
def test_readers_are_in_no_transaction_and_writers_in_one_whoever_had_the_connection(
    postgres_url: str, first: Way
) -> None:
    database = Database(postgres_url, pool_size=1)
    states = []
    with first(database):
        pass
    for way in (Database.read, Database.begin, Database.read):
        with way(database) as connection:
            connection.execute(sa.text("SELECT 1"))
            opened = connection.connection.driver_connection
            assert isinstance(opened, psycopg.Connection)
            states.append(opened.info.transaction_status.name)
    database.close()

    assert states == ["IDLE", "INTRANS", "IDLE"]


@pytest.mark.postgres
@_EITHER_WAY
def test_a_lost_connection_costs_one_error_however_many_rest(postgres_url: str, way: Way) -> None:
    database = Database(postgres_url, pool_size=3)
    with database.read(), database.read(), database.read() as connection:
        name = connection.execute(sa.text("SELECT current_database()")).scalar_one()
    with psycopg.connect(postgres_url, autocommit=True) as other:
        ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
        other.execute(ended, (name, other.info.backend_pid))

    with pytest.raises(DatabaseUnavailableError), way(database) as connection:
        driver.fetch(connection, sa.select(sa.literal(1)), {})
    with database.read() as one, database.begin() as two, database.read() as three:
        assert [each.execute(sa.text("SELECT 1")).scalar_one() for each in (one, two, three)] == [1, 1, 1]
    database.close()

    assert database.pool.in_use == 0


@pytest.mark.postgres
def test_a_connection_that_rested_long_is_tried_before_use(postgres_url: str) -> None:
    database = Database(postgres_url, pool_size=1)
    database.pool.trusted = 0.0
    with database.read() as connection:
        pid = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    with database.begin() as connection:
        assert connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one() != pid
    with database.read() as connection:  # it works, so it is kept
        again = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
    with database.read() as connection:
        assert connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one() == again
    database.close()


def test_a_transaction_is_intact_until_its_own_statement_or_connection_fails(lone: Database) -> None:
    with pytest.raises(TurnwiseError), lone.begin() as connection:
        assert is_intact(connection)
        with suppress(sa.exc.DBAPIError):
            connection.execute(sa.text("SELECT nothing_of_the_kind"))
        # SQLite undoes the statement alone.
        assert is_intact(connection) is not lone.is_postgres
        raise DatabaseUnavailableError("enough")

    with pytest.raises(TurnwiseError), lone.begin() as connection:
        of_driver: Any = connection.connection.driver_connection
        of_driver.close()
        assert not is_intact(connection)
        raise DatabaseUnavailableError("enough")


@pytest.mark.postgres
def test_a_transaction_is_not_intact_whose_connection_broke_in_a_statement(postgres_url: str) -> None:
    database = Database(postgres_url)
    with pytest.raises(DatabaseUnavailableError), database.begin() as connection:
        with suppress(sa.exc.DBAPIError):
            connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))
        assert not is_intact(connection)
        raise DatabaseUnavailableError("enough")
    database.close()


def test_who_has_waited_for_a_connection_has_it_before_who_comes_back_for_another(lone: Database) -> None:
    order: list[str] = []

    def wait() -> None:
        with lone.begin():
            order.append("waited")

    with ExitStack() as held:
        if not lone.is_postgres:
            # The second connection, which reads.
            held.enter_context(lone.read())
        lease = lone.pool.take(reads=True)
        waiting = threading.Thread(target=wait)
        waiting.start()
        until(lambda: lone.pool.waiting == 1, "the other to wait")
        lone.pool.give_back(lease)
        lone.pool.give_back(lone.pool.take(reads=True))
        order.append("came back")
        waiting.join()
    assert order == ["waited", "came back"]
    assert lone.pool.in_use == 0


@pytest.mark.postgres
@_EITHER_WAY
def test_connections_that_take_no_writes_are_not_used_again(postgres_url: str, way: Way) -> None:
    database = Database(postgres_url, pool_size=2)
    with database.begin() as connection:
        _TABLE.create(connection)
    with ExitStack() as both:
        for _ in range(2):
            connection = both.enter_context(database.read())
            connection.exec_driver_sql("SET default_transaction_read_only = on")

    with pytest.raises(DatabaseUnavailableError, match="takes no writes now"), way(database) as connection:
        driver.run(connection, _PUT, [{"id": "refused"}])
    for name in ("first", "second"):
        with way(database) as connection:
            driver.run(connection, _PUT, [{"id": name}])

    assert _kept(database) == ["first", "second"]
    assert database.pool.in_use == 0
    with database.begin() as connection:
        _TABLE.drop(connection)
    database.close()
