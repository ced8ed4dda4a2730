"""Create a database on a PostgreSQL server, from which its tables can be made."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors, sql
from sqlalchemy.engine import URL

from turnwise.errors import ConfigurationError
from turnwise.record.database.connect_errors import connect_fault
from turnwise.record.database.database_url import connect_options

# Databases that every server has, unless someone has deleted them; CREATE DATABASE needs a connection to one.
_MAINTENANCE = ("postgres", "template1")


def create_database(url: URL) -> bool:
    """Create the database of `url` as its user; return False if it exists.

    Raises `ConfigurationError` if the user may not create one, or the URL does not name it itself, and
    `psycopg.OperationalError` if the server refuses the connection for another reason than the missing database.
    """
    if _exists(url):
        return False
    name = url.database
    if not name:
        raise ConfigurationError(
            "the database that libpq's service or environment names does not exist, though its server answers; create "
            "it with `createdb`, or name it in TURNWISE_DATABASE_URL"
        )
    with _maintenance(url) as connection:
        try:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except errors.DuplicateDatabase:  # someone else was faster
            return False
        except errors.InsufficientPrivilege as error:
            raise ConfigurationError(
                f"the user {url.username!r} may not create the database {name!r}; have an administrator of the server "
                f"run: CREATE DATABASE {name} OWNER {url.username}"
            ) from error
    return True


def _exists(url: URL) -> bool:
    try:
        _connect(url).close()
    except psycopg.OperationalError as error:
        if connect_fault(str(error)).kind != "missing_database":
            raise
        return False
    return True


def _maintenance(url: URL) -> psycopg.Connection[Any]:
    first, second = _MAINTENANCE
    try:
        return _connect(url.set(database=first))
    except psycopg.OperationalError as error:
        if connect_fault(str(error)).kind != "missing_database":
            raise
    return _connect(url.set(database=second))


def _connect(url: URL) -> psycopg.Connection[Any]:
    return psycopg.connect(autocommit=True, **connect_options(url))
