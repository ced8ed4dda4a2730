"""The bases of the parts that roles are made of: the lock of a run, the reach, and what a request leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import NotFoundError, RepeatedRequestError
from turnwise.record.database import driver
from turnwise.record.database.columns import now
from turnwise.record.database.rows import RUN, names, run_of
from turnwise.record.database.schema import runs
from turnwise.record.runs.core import Core
from turnwise.record.runs.idempotency import Once, done_before, write_once
from turnwise.record.runs.transaction import RunTransaction
from turnwise.record.tenants.audit import write_deed
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.reach import OneTenant, Reach

_BY_ID = sa.select(*RUN, now()).where(runs.c.id == sa.bindparam("run_id"))
_TENANT_AT = names(RUN).index("tenant")
_LOCK = _BY_ID.with_for_update()
_LOCK_IF_FREE = _BY_ID.with_for_update(skip_locked=True)
# Made once: an alias copies every column of the table.
_mine = runs.alias("mine")


class RecordPart:
    """Queries that belong together, of what is within `reach`. A role inherits the parts that it offers.

    The database is for the parts alone: a role's public methods are all that its holder can do.
    """

    def __init__(self, core: Core, reach: Reach) -> None:
        self._core = core
        self._reach = reach
        self._database = core.database
        self.clock = core.clock

    def now(self) -> float:
        """The database's time, in seconds since the epoch."""
        with self._database.read() as connection:
            return self._database.now(connection)

    @contextmanager
    def _lock_run(self, run_id: str, *, skip_locked: bool = False) -> Iterator[RunTransaction | None]:
        """One writing transaction over a run whose row is locked; an exception leaves nothing of it.

        Gives None if `skip_locked` and another transaction holds the run. Raises `NotFoundError` for an unknown run.
        """
        with self._database.begin() as connection:
            rows = driver.fetch(connection, _LOCK_IF_FREE if skip_locked else _LOCK, {"run_id": run_id})
            if not rows or not self._reach.includes(rows[0][_TENANT_AT]):
                self._require_run(connection, run_id)
                transaction = None
                yield None
            else:
                transaction = RunTransaction(self._database, connection, run_of(rows[0]), rows[0][-1])
                seq = transaction.run.last_seq
                yield transaction
                transaction.flush()
        if transaction is not None and transaction.run.last_seq > seq:
            self._core.after_commit(transaction.run, transaction.news)

    @contextmanager
    def _locked(self, run_id: str) -> Iterator[RunTransaction]:
        """`_lock_run`, waiting for the lock."""
        with self._lock_run(run_id) as transaction:
            assert transaction is not None  # only skip_locked gives None
            yield transaction

    def _own(self, statement: sa.Select[Any], run_id: sa.ColumnElement[str]) -> sa.Select[Any]:
        """A query of what belongs to the run `run_id`, without what is out of reach."""
        conditions = self._reach.where(_mine.c.tenant)
        return statement.where(sa.exists().where(_mine.c.id == run_id, *conditions)) if conditions else statement

    def _require_run(self, connection: Connection, run_id: str) -> None:
        """Raise `NotFoundError` unless the run is there."""
        if connection.execute(self._own(sa.select(runs.c.id).where(runs.c.id == run_id), runs.c.id)).first() is None:
            raise unknown_run(run_id)


class ChangingPart(RecordPart):
    """A part whose changes are done on someone's behalf.

    Whatever it changes, it writes `deed` into the audit log in the same transaction, and the idempotency key of `once`,
    so that the same change is not made twice.
    """

    def __init__(self, core: Core, reach: Reach, *, deed: Deed | None = None, once: Once | None = None) -> None:
        super().__init__(core, reach)
        self._deed = deed
        self._once = once

    def check_not_done(self) -> None:
        """Raise `RepeatedRequestError` if the request was done, `ConflictError` if its key was used for another."""
        if self._once is not None:
            with self._database.read() as connection:
                done_before(connection, self._once)

    def _audited(self, connection: Connection, resource: str) -> None:
        """Write into the audit log what this transaction does, where it is done on someone's behalf.

        Raises `RepeatedRequestError`, and nothing is done, if it was done before for the same request.
        """
        if self._once is not None:
            write_once(self._database, connection, self._once, resource)
        if self._deed is not None:
            write_deed(connection, self._deed, resource)


class TenantPart(ChangingPart):
    """A part of the tenant's role alone: it cannot be made without a tenant.

    New runs are the tenant's; they are refused while `max_unfinished_runs` of its runs have not ended (None, 0: no
    limit).
    """

    def __init__(
        self,
        core: Core,
        tenant: OneTenant,
        *,
        max_unfinished_runs: int | None = None,
        deed: Deed | None = None,
        once: Once | None = None,
    ) -> None:
        super().__init__(core, tenant, deed=deed, once=once)
        self._tenant = tenant.name
        self._max_unfinished_runs = max_unfinished_runs or None

    def for_part(self, resource: str) -> Self:
        """This role for the part of the request that changes `resource`: the part has an idempotency key of its own.

        A request that changes many things commits each by itself. Sent again after it was cut off, it changes the rest.
        """
        if self._once is None:
            return self
        made = copy(self)
        made._once = self._once.part(resource)
        return made

    def keep_choice(self, choice: str) -> str:
        """Write down what the request chose to change, ahead of the parts; sent again, it is given its first choice.

        Raises `ConflictError` if another request had the idempotency key.
        """
        if self._once is None:
            return choice
        try:
            with self._database.begin() as connection:
                write_once(self._database, connection, self._once, choice)
        except RepeatedRequestError as error:
            return error.resource
        return choice


def unknown_run(run_id: str) -> NotFoundError:
    """The error that says which run there is not."""
    return NotFoundError(f"there is no run {run_id!r}; list the runs to see which exist")
