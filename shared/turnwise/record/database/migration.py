"""Applies the migration scripts of this package."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy.engine import Connection

from turnwise.errors import SchemaVersionError

_SCRIPTS = Path(__file__).parent / "migrations"
_UNCHECKED = sa.text(
    "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'c' AND NOT convalidated "
    "AND connamespace = current_schema()::regnamespace ORDER BY 1, 2"
)
_LOCK = 7_303_014_920_157  # any number that no other program takes as its advisory lock


def config(connection: Connection) -> Config:
    """Alembic's configuration, bound to an open connection."""
    made = Config()
    made.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def upgrade(connection: Connection, name: str) -> None:
    """Apply what is missing within the caller's transaction; a second migrator waits for the first.

    Raises `SchemaVersionError` for a database (`name` says which) that a newer program has made.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    try:
        command.upgrade(config(connection), "head")
    except CommandError as error:
        raise SchemaVersionError(
            f"{name} has a schema that this program does not know ({error}); "
            "was it made by a newer version? Update this program"
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
