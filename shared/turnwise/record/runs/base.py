"""The base of all parts of the store: the database, the lock of a run, and the notice of written events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.errors import NotFoundError, RepeatedRequestError
from turnwise.record.asks.tenant_shares import TenantShares
from turnwise.record.database import driver
from turnwise.record.database.columns import now
from turnwise.record.database.database import Database
from turnwise.record.database.rows import RUN, names, run_of
from turnwise.record.database.schema import runs
from turnwise.record.runs import journal
from turnwise.record.runs.idempotency import Once, done_before, write_once
from turnwise.record.runs.transaction import RunTransaction
from turnwise.record.tenants.audit import write_deed
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.tenant import TenantLimits

Notify = Callable[[str, int], None]

_BY_ID = sa.select(*RUN, now()).where(runs.c.id == sa.bindparam("run_id"))
_TENANT_AT = names(RUN).index("tenant")
_LOCK = _BY_ID.with_for_update()
_LOCK_IF_FREE = _BY_ID.with_for_update(skip_locked=True)
# Made once: an alias copies every column of the table.
_mine = runs.alias("mine")


class StoreBase:
    """A database and its leases; `notify(run_id, last_seq)` is called after a commit that wrote events.

    `clock` is that of the process, which its services share; what is recorded is timed by the database. Where asks of
    several tenants wait in a queue, each is served by its weight in `tenant_weights` (1 where it has none).
    """

    def __init__(
        self,
        database: Database,
        *,
        lease_seconds: float = 5.0,
        notify: Notify | None = None,
        clock: Clock = SYSTEM_CLOCK,
        tenant_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.database = database
        self.lease_seconds = lease_seconds
        self.notify = notify
        self.clock = clock
        self.tenant_shares = TenantShares(database, clock, tenant_weights or {})
        # By tenant: when they were read, by the process's clock, and what they were.
        self.known_limits: dict[str, tuple[float, TenantLimits]] = {}
        # Whose record this is, where it is one tenant's; see `of`.
        self.tenant: str | None = None
        self.max_unfinished_runs: int | None = None
        self.deed: Deed | None = None
        self.once: Once | None = None

    def of(
        self,
        tenant: str | None,
        *,
        max_unfinished_runs: int | None = None,
        deed: Deed | None = None,
        once: Once | None = None,
    ) -> Self:
        """This record as one tenant has it: whatever is another's is not there; None: as it is.

        Its new runs are the tenant's; they are refused while so many of its runs have not ended (None, 0: no limit).
        Whatever it changes, it writes `deed` into the audit log in the same transaction, and the idempotency key of
        `once`, so that the same change is not made twice.
        """
        made = copy(self)
        made.tenant, made.max_unfinished_runs, made.deed = tenant, max_unfinished_runs or None, deed
        made.once = once
        return made

    @contextmanager
    def lock_run(self, run_id: str, *, skip_locked: bool = False) -> Iterator[RunTransaction | None]:
        """One writing transaction over a run whose row is locked; an exception leaves nothing of it.

        Gives None if `skip_locked` and another transaction holds the run. Raises `NotFoundError` for an unknown run.
        """
        with self.database.begin() as connection:
            rows = driver.fetch(connection, _LOCK_IF_FREE if skip_locked else _LOCK, {"run_id": run_id})
            if not rows or not self.has(rows[0][_TENANT_AT]):
                self.require_run(connection, run_id)
                transaction = None
                yield None
            else:
                transaction = RunTransaction(self.database, connection, run_of(rows[0]), rows[0][-1])
                seq = transaction.run.last_seq
                yield transaction
                transaction.flush()
        if transaction is not None and transaction.run.last_seq > seq:
            journal.tell(transaction.run, transaction.news)
            self.tell(run_id, transaction.run.last_seq)

    @contextmanager
    def locked(self, run_id: str) -> Iterator[RunTransaction]:
        """`lock_run`, waiting for the lock."""
        with self.lock_run(run_id) as transaction:
            assert transaction is not None  # only skip_locked gives None
            yield transaction

    def has(self, tenant: str) -> bool:
        """Return whether what belongs to `tenant` is there, for whom this record is."""
        return self.tenant in (None, tenant)

    def own(self, statement: sa.Select[Any], run_id: sa.ColumnElement[str]) -> sa.Select[Any]:
        """A query of what belongs to the run `run_id`, without what is another tenant's."""
        if self.tenant is None:
            return statement
        return statement.where(sa.exists().where(_mine.c.id == run_id, _mine.c.tenant == self.tenant))

    def require_run(self, connection: Connection, run_id: str) -> None:
        """Raise `NotFoundError` unless the run is there."""
        if connection.execute(self.own(sa.select(runs.c.id).where(runs.c.id == run_id), runs.c.id)).first() is None:
            raise unknown_run(run_id)

    def audited(self, connection: Connection, resource: str) -> None:
        """Write into the audit log what this transaction does, where it is done on someone's behalf.

        Raises `RepeatedRequestError`, and nothing is done, if it was done before for the same request.
        """
        if self.once is not None:
            write_once(self.database, connection, self.once, resource)
        if self.deed is not None:
            write_deed(connection, self.deed, resource)

    def check_not_done(self, once: Once) -> None:
        """Raise `RepeatedRequestError` if the request was done, `ConflictError` if its key was used for another."""
        with self.database.read() as connection:
            done_before(connection, once)

    def for_part(self, resource: str) -> Self:
        """This record for the part of the request that changes `resource`: the part has an idempotency key of its own.

        A request that changes many things commits each by itself. Sent again after it was cut off, it changes the rest.
        """
        if self.once is None:
            return self
        made = copy(self)
        made.once = self.once.part(resource)
        return made

    def keep_choice(self, choice: str) -> str:
        """Write down what the request chose to change, ahead of the parts; sent again, it is given its first choice.

        Raises `ConflictError` if another request had the idempotency key.
        """
        if self.once is None:
            return choice
        try:
            with self.database.begin() as connection:
                write_once(self.database, connection, self.once, choice)
        except RepeatedRequestError as error:
            return error.resource
        return choice

    def tell(self, run_id: str, seq: int) -> None:
        """Pass on that the run has event `seq`."""
        if self.notify is not None:
            self.notify(run_id, seq)


def unknown_run(run_id: str) -> NotFoundError:
    """The error that says which run there is not."""
    return NotFoundError(f"there is no run {run_id!r}; list the runs to see which exist")
