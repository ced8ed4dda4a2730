"""Applies the migration scripts of this package."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Connection

_SCRIPTS = Path(__file__).parent / "migrations"
_LOCK = 7_303_014_920_157  # any number that no other program takes as its advisory lock


def config(connection: Connection) -> Config:
    """Alembic's configuration, bound to an open connection."""
    made = Config()
    made.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def upgrade(connection: Connection) -> None:
    """Apply what is missing within the caller's transaction; a second migrator waits for the first."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    command.upgrade(config(connection), "head")
