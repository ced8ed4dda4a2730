"""What all parts of the store share: the database, the lock of a run, and the word that events were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import NotFoundError
from turnwise.runs import direct
from turnwise.runs.columns import now
from turnwise.runs.database import Database
from turnwise.runs.rows import RUN, run_of
from turnwise.runs.schema import runs
from turnwise.runs.transaction import RunTransaction

Notify = Callable[[str, int], None]

_BY_ID = sa.select(*RUN, now()).where(runs.c.id == sa.bindparam("run_id"))
_LOCK = _BY_ID.with_for_update()
_LOCK_IF_FREE = _BY_ID.with_for_update(skip_locked=True)


class StoreBase:
    """A database and its leases; `notify(run_id, last_seq)` is called after a commit that wrote events."""

    def __init__(self, database: Database, *, lease_seconds: float = 5.0, notify: Notify | None = None) -> None:
        self.database = database
        self.lease_seconds = lease_seconds
        self.notify = notify

    @contextmanager
    def lock_run(self, run_id: str, *, skip_locked: bool = False) -> Iterator[RunTransaction | None]:
        """One writing transaction over a run whose row is locked; an exception leaves nothing of it.

        Gives None if `skip_locked` and another transaction holds the run. Raises `NotFoundError` for an unknown run.
        """
        with self.database.begin() as connection:
            rows = direct.fetch(connection, _LOCK_IF_FREE if skip_locked else _LOCK, {"run_id": run_id})
            if not rows:
                require_run(connection, run_id)
                transaction = None
                yield None
            else:
                transaction = RunTransaction(self.database, connection, run_of(rows[0]), rows[0][-1])
                seq = transaction.run.last_seq
                yield transaction
                transaction.flush()
        if transaction is not None and transaction.run.last_seq > seq:
            self.tell(run_id, transaction.run.last_seq)

    @contextmanager
    def locked(self, run_id: str) -> Iterator[RunTransaction]:
        """`lock_run`, waiting for the lock."""
        with self.lock_run(run_id) as transaction:
            assert transaction is not None  # only skip_locked gives None
            yield transaction

    def tell(self, run_id: str, seq: int) -> None:
        """Pass on that the run has event `seq`."""
        if self.notify is not None:
            self.notify(run_id, seq)


def require_run(connection: Connection, run_id: str) -> None:
    """Raise `NotFoundError` unless the run exists."""
    if connection.execute(sa.select(runs.c.id).where(runs.c.id == run_id)).first() is None:
        raise NotFoundError(f"there is no run {run_id!r}; list the runs to see which exist")
