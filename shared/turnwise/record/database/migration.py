"""Applies the migration scripts of this package."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import psycopg
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from turnwise.errors import DatabaseUnavailableError, SchemaVersionError

logger = logging.getLogger(__name__)

_SCRIPTS = Path(__file__).parent / "migrations"
_UNCHECKED = sa.text(
    "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'c' AND NOT convalidated "
    "AND connamespace = current_schema()::regnamespace ORDER BY 1, 2"
)
# Seconds between tries to get at a table that someone else has; each try waits 3 s for it.
_PAUSES = (1, 2, 4, 8, 15, 30, 60, 60, 60, 60)
# A process at work may also be in a deadlock with a try: each wants a table that the other has.
_TAKEN = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
# As PostgreSQL and SQLite complain of a table, or an index, that is to be created.
_IS_THERE = re.compile(r"^(?:relation|table|index) \"?(.+?)\"? already exists")
_LOCK = 7_303_014_920_157  # any number that no other program takes as its advisory lock


def config(connection: Connection) -> Config:
    """Alembic's configuration, bound to an open connection."""
    made = Config()
    made.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def upgrade(begin: Callable[[], AbstractContextManager[Connection]], name: str, found: str | None) -> None:
    """Apply what is missing, each script in a transaction of `begin`; a second migrator waits for the first.

    `found` is the version of the schema, None for an empty database. Raises `SchemaVersionError` for a database (`name`
    says which) that a newer program has made, one that has tables of another program under our names, and one of whose
    tables someone else keeps for more than five minutes.
    """
    for revision in _missing(name, found):
        with _foreign_table_reported(name) if found is None else nullcontext():
            _apply(begin, revision, name)


def _missing(name: str, found: str | None) -> list[str]:
    """Return the revisions to apply, one by one: each keeps its tables locked until its commit.

    An empty database has nothing that another process could want, and is made in one transaction.
    """
    if found is None:
        return ["head"]
    with _unknown_schema_reported(name):
        scripts = ScriptDirectory(str(_SCRIPTS)).iterate_revisions("head", found)
        return [script.revision for script in scripts][::-1]


def _apply(begin: Callable[[], AbstractContextManager[Connection]], revision: str, name: str) -> None:
    for pause in (*_PAUSES, None):
        try:
            with begin() as connection, _unknown_schema_reported(name):
                _exclude_others(connection)
                command.upgrade(config(connection), revision)
            return
        except DatabaseUnavailableError as error:
            if not isinstance(getattr(error.__cause__, "orig", None), _TAKEN):
                raise
            if pause is None:
                raise SchemaVersionError(
                    f"the schema of {name} cannot be changed: another transaction, such as a backup, has kept one of "
                    "its tables for minutes; run `turnwise migrate` when it has ended"
                ) from error
            extra = {"action": "migration_waits"}
            logger.warning("Another transaction has a table; the next try is in %d s", pause, extra=extra)
            time.sleep(pause)


def _exclude_others(connection: Connection) -> None:
    """Wait for another migrator to end, and limit the wait for each table."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        # Whoever waits for a table makes all wait who come after, also readers: so not for long behind a backup.
        connection.execute(sa.text("SET LOCAL lock_timeout = '3s'"))


@contextmanager
def _unknown_schema_reported(name: str) -> Iterator[None]:
    try:
        yield
    except (CommandError, RevisionError) as error:
        raise SchemaVersionError(
            f"{name} has a schema that this program does not know ({error}); "
            "was it made by a newer version? Update this program"
        ) from error


@contextmanager
def _foreign_table_reported(name: str) -> Iterator[None]:
    """Around the first tables of a database."""
    try:
        yield
    except (exc.ProgrammingError, DatabaseUnavailableError) as error:
        cause = getattr(error.__cause__ if isinstance(error, DatabaseUnavailableError) else error, "orig", None)
        is_there = _IS_THERE.search(str(cause))
        if not isinstance(cause, psycopg.errors.DuplicateTable) and is_there is None:
            raise
        # A server may say it in another language.
        table = f"a table {is_there[1]!r} that is" if is_there is not None else "tables that are"
        raise SchemaVersionError(
            f"{name} has {table} not Turnwise's; give Turnwise a database of its own, and correct TURNWISE_DATABASE_URL"
        ) from error


def validate(connection: Connection) -> None:
    """Check the rows that were there before a constraint was, where that is still to be done.

    PostgreSQL lets others read and write meanwhile. A migration that was cut off before this is completed by the next.
    """
    if connection.dialect.name != "postgresql":
        return
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    quote = connection.dialect.identifier_preparer.quote
    for table, name in connection.execute(_UNCHECKED).all():
        connection.execute(sa.text(f"ALTER TABLE {table} VALIDATE CONSTRAINT {quote(name)}"))
