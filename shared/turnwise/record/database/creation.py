"""Create a database on a PostgreSQL server, from which its tables can be made."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors, sql
from sqlalchemy.engine import URL

from turnwise.errors import ConfigurationError
from turnwise.record.database.connect_errors import connect_fault
from turnwise.record.database.database_url import connect_options
from turnwise.record.database.encoding import UTF8

# Databases that every server has, unless someone has deleted them; CREATE DATABASE needs a connection to one.
_MAINTENANCE = ("postgres", "template1")
# What CREATE DATABASE copies, with the extensions that administrators put there, and what it copies in any encoding.
_TEMPLATE, _PLAIN_TEMPLATE = "template1", "template0"
_IN_UTF8 = f"ENCODING '{UTF8}' TEMPLATE {_PLAIN_TEMPLATE}"
_ENCODING = "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = %s"


def create_database(url: URL) -> bool:
    """Create the database of `url` in UTF-8 as its user; return False if it exists.

    Raises `ConfigurationError` if the user may not create one, the server's locale does not allow UTF-8, or the URL
    does not name the database itself, and `psycopg.OperationalError` if the server refuses the connection for another
    reason than the missing database.
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
            connection.execute(_creation(connection, name))
        except errors.DuplicateDatabase:  # someone else was faster
            return False
        except errors.InsufficientPrivilege as error:
            raise ConfigurationError(
                f"the user {url.username!r} may not create the database {name!r}; have an administrator of the server "
                f"run: CREATE DATABASE {name} OWNER {url.username} {_IN_UTF8}"
            ) from error
        except errors.InvalidParameterValue as error:
            raise ConfigurationError(
                f"the server cannot create the database {name!r} in UTF-8 ({' '.join(str(error).split())}); create it "
                f"with a locale that allows it: CREATE DATABASE {name} {_IN_UTF8} LOCALE 'C'"
            ) from error
    return True


def _creation(connection: psycopg.Connection[Any], name: str) -> sql.Composed:
    row = connection.execute(_ENCODING, [_TEMPLATE]).fetchone()
    template = _TEMPLATE if row == (UTF8,) else _PLAIN_TEMPLATE
    command = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}")
    return command.format(sql.Identifier(name), sql.Identifier(template), sql.Literal(UTF8))


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
