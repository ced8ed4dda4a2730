"""The encoding of a PostgreSQL database: in one other than UTF-8 not every text can be kept, or found."""

from __future__ import annotations

import logging

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConfigurationError

logger = logging.getLogger(__name__)

UTF8 = "UTF8"  # as PostgreSQL spells it
_CREATION = "`createdb -E UTF8 -T template0 NAME`"
REMEDY = f"move its tables to a database in UTF-8: `pg_dump`, {_CREATION}, `pg_restore`"

_FOUND = sa.text("SHOW server_encoding")
_OF_BYTES = "SQL_ASCII"


def shortcoming_of(connection: Connection) -> str | None:
    """Return how the encoding of this database fails its records, as the end of a sentence; None if it does not."""
    if connection.dialect.name != "postgresql":  # SQLite has Unicode only
        return None
    found = connection.execute(_FOUND).scalar_one()
    if found == UTF8:
        return None
    if found == _OF_BYTES:
        # No escape of JSON beyond ASCII can be read there, and `parts_of` makes one of a NUL.
        why = "which knows no characters: searches ignore the case of ASCII only, and fail on texts with a NUL"
    else:
        why = "which lacks most characters: a run fails when its model, a tool or a person writes one, such as an emoji"
    return f"has the encoding {found}, {why}"


def check_encoding(connection: Connection, name: str, *, is_new: bool) -> None:
    """Raise `ConfigurationError` for a new database that is not in UTF-8; of one that has tables the log tells.

    `name` says which it is. The encoding of a database never changes, so what is there can only be moved.
    """
    shortcoming = shortcoming_of(connection)
    if shortcoming is None:
        return
    if is_new:
        raise ConfigurationError(
            f"{name} {shortcoming}; create a database in UTF-8 ({_CREATION}), and name it in TURNWISE_DATABASE_URL"
        )
    logger.warning("%s %s; %s", name, shortcoming, REMEDY, extra={"action": "database_encoding"})
