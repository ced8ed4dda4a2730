"""The bases of the parts that roles are made of: the lock of a run, the reach, and what a request leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import NotFoundError, RepeatedRequestError, RunChangedError
from turnwise.record.database import driver
from turnwise.record.database.columns import now
from turnwise.record.database.rows import RUN, names, run_of
from turnwise.record.database.schema import runs
from turnwise.record.tenants.audit import write_deed
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.reach import OneTenant, Reach
from turnwise.record.transaction.core import Core
from turnwise.record.transaction.idempotency import Once, done_before, write_once
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.statements import LAST_EVENT
from turnwise.record.values.known_run import KnownRun

T = TypeVar("T")

_BY_ID = sa.select(*RUN, LAST_EVENT.scalar_subquery(), now()).where(runs.c.id == sa.bindparam("run_id"))
_TENANT_AT, _REVISION_AT = names(RUN).index("tenant"), names(RUN).index("revision")
_LOCK = _BY_ID.with_for_update()
_LOCK_IF_FREE = _BY_ID.with_for_update(skip_locked=True)
# Made once: an alias copies every column of the table.
_mine = runs.alias("mine")


def time_of_run(last: float | None, time: float) -> float:
    """The database's time, but not before the run's last event.

    A carried run's events are dated by its worker's clock from the database's time that was read last.
    """
    return time if last is None else max(last, time)


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
    def _lock_run(
        self, run_id: str, *, skip_locked: bool = False, known: KnownRun | None = None
    ) -> Iterator[RunTransaction | None]:
        """One writing transaction over a run whose row is locked; an exception leaves nothing of it.

        `known` is used instead of reading if its revision is still the run's, and is brought up to date.
        Gives None if `skip_locked` and another transaction holds the run. Raises `NotFoundError` for an unknown run.
        """
        with self._database.begin() as connection:
            rows = driver.fetch(connection, _LOCK_IF_FREE if skip_locked else _LOCK, {"run_id": run_id})
            if not rows or not self._reach.includes(rows[0][_TENANT_AT]):
                self._require_run(connection, run_id)
                transaction = None
                yield None
            else:
                run, time, read_at = run_of(rows[0]), time_of_run(*rows[0][-2:]), self.clock.monotonic()
                if known is not None and known.take() and known.run.revision == run.revision:
                    # Later transactions take their time from `known`, and must not date events before this one's.
                    known.time, known.read_at = time, read_at
                else:
                    known = KnownRun(run=run, time=time, read_at=read_at)
                transaction = RunTransaction(self._database, RunLock(connection), known, time)
                yield transaction
                transaction.flush()
        if transaction is not None:
            self._end(transaction)

    def _on_known(self, known: KnownRun, work: Callable[[RunTransaction], T]) -> T:
        """Do `work` in one writing transaction over a run that is `known` from the one before.

        An exception leaves nothing of it. Raises `RunChangedError` if the run is another by now, as soon as that shows:
        the whole has to be done again then, by `_locked`.
        """
        with ExitStack() as stack:
            time = known.now(self.clock)
            lock = RunLock(take=lambda: self._lock_again(stack, known, time))
            transaction = RunTransaction(self._database, lock, known, time)
            result = work(transaction)
            transaction.flush()
        self._end(transaction)
        return result

    def _lock_again(self, stack: ExitStack, known: KnownRun, time: float) -> Connection:
        """The connection of a transaction, until `stack` ends, that has locked the run that is known.

        Its events are dated `time`, so no later transaction may use an earlier time.
        """
        connection = stack.enter_context(self._database.begin())
        rows = driver.fetch(connection, _LOCK, {"run_id": known.run.id})
        if not rows or rows[0][_REVISION_AT] != known.run.revision:
            raise RunChangedError(
                f"the run {known.run.id} no longer has the revision {known.run.revision}: it was changed meanwhile; "
                "it is read again"
            )
        known.time, known.read_at = max(time, time_of_run(*rows[0][-2:])), self.clock.monotonic()
        return connection

    def _end(self, transaction: RunTransaction) -> None:
        """Do what follows a commit."""
        told = transaction.run.last_seq > transaction.known.run.last_seq
        transaction.give_back()
        if told:
            self._core.after_commit(transaction.run, transaction.news)

    @contextmanager
    def _locked(self, run_id: str, known: KnownRun | None = None) -> Iterator[RunTransaction]:
        """`_lock_run`, waiting for the lock."""
        with self._lock_run(run_id, known=known) as transaction:
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

    def _audited(self, connection: Connection, resource: str, *, made: str | None = None) -> None:
        """Write into the audit log what this transaction does, where it is done on someone's behalf.

        `made` is what a repeated request is told, where that is another one than it names.
        Raises `RepeatedRequestError`, and nothing is done, if it was done before for the same request.
        """
        if self._once is not None:
            write_once(self._database, connection, self._once, made or resource)
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
