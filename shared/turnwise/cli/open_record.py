"""The record, opened by a command that works on it directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.record.store import Store


@contextmanager
def open_record(url: str) -> Iterator[Store]:
    """A store over the database; raises `DatabaseUnavailableError`, `SchemaVersionError`, `ConfigurationError`."""
    from turnwise.record.database.database import Database
    from turnwise.record.store import Store

    database = Database(url)
    try:
        database.check_schema()
        yield Store(database)
    finally:
        database.close()
