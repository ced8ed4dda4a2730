"""The ends of runs, as whoever waits for them hears of them.

Looking for an end again and again uses the processor and the database that are measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, Protocol

import psycopg
from psycopg import sql

from turnwise.record.values.records import RunRecord
from turnwise.serving.observer import Observer

_CHANNEL = "bench_run_ended"
# Only a statement that sets the column fires it, which is the last one of a run.
_TELL: tuple[LiteralString, ...] = (
    "CREATE FUNCTION bench_tell_end() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN PERFORM pg_notify('{_CHANNEL}', NEW.id); RETURN NULL; END $$",
    "CREATE TRIGGER bench_run_ends AFTER UPDATE OF finished_at ON runs FOR EACH ROW "
    "WHEN (NEW.finished_at IS NOT NULL) EXECUTE FUNCTION bench_tell_end()",
)


class Ends(Protocol):
    """Who hears of the ends of runs."""

    def wait(self, run_id: str, seconds: float) -> bool:
        """Return True once the run has ended, False if it has not within so many seconds."""
        ...


class EndsInProcess(Observer):
    """The ends of runs that the threads of this process move."""

    def __init__(self) -> None:
        self._ended: set[str] = set()
        self._changed = threading.Condition()

    def run_ended(self, run: RunRecord) -> None:
        """Wake who waits for it."""
        with self._changed:
            self._ended.add(run.id)
            self._changed.notify_all()

    def wait(self, run_id: str, seconds: float) -> bool:
        """See `Ends`."""
        with self._changed:
            return self._changed.wait_for(lambda: run_id in self._ended, seconds)


class EndsOnPostgres:
    """The ends of runs on a record in PostgreSQL, which tells of them itself."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._ended: set[str] = set()

    def wait(self, run_id: str, seconds: float) -> bool:
        """See `Ends`."""
        until = time.monotonic() + seconds
        while run_id not in self._ended:
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._ended.update(told.payload for told in self._connection.notifies(timeout=left, stop_after=1))
        return True


@contextmanager
def ends_on_postgres(database_url: str) -> Iterator[EndsOnPostgres]:
    """Let this database, which has its tables, tell of the ends of its runs."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for statement in _TELL:
            connection.execute(statement)
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(_CHANNEL)))
        yield EndsOnPostgres(connection)
