"""A store that is interrupted in the middle of what it does: something else happens between two of its statements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import sqlalchemy as sa
from tests.e2e.waiting import until

from turnwise.record.database.database import Database
from turnwise.record.store import Store


@contextmanager
def interrupted(store: Store, at: int, meanwhile: Callable[[], object]) -> Iterator[Store]:
    """Another store of the same database, before whose statement number `at` (from 1) `meanwhile` is called.

    Statements that go to the driver directly are not counted.
    """
    database = Database(store.database.url.render_as_string(hide_password=False))
    numbers = count(1)

    def look(*_: Any) -> None:
        if next(numbers) == at:
            meanwhile()

    # Ahead of the first connection, as one that is there keeps to the listeners that it began with.
    sa.event.listen(database.engine, "before_cursor_execute", look)
    try:
        yield Store(database)
    finally:
        database.close()


def until_it_waits(store: Store, or_done: Callable[[], bool] = lambda: False) -> None:
    """Return once another transaction waits for this one, or is done; where nothing shows that, after a moment."""
    if not store.database.is_postgres:
        time.sleep(0.1)
        return
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def waits() -> bool:
        with store.database.read() as connection:
            return or_done() or bool(connection.exec_driver_sql(query).scalar_one())

    until(waits, "another transaction to wait for this one")
