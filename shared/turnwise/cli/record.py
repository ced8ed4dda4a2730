"""The record, opened by a command that works on it directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.runs.store import Store


@contextmanager
def open_record(url: str) -> Iterator[Store]:
    """A store over the database; raises `DatabaseUnavailableError`, `SchemaVersionError`, `ConfigurationError`."""
    from turnwise.runs.database import Database
    from turnwise.runs.store import Store

    database = Database(url)
    try:
        database.check_schema()
        yield Store(database)
    finally:
        database.close()
