"""Accepting runs and asking for their end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError
from turnwise.record.batches.whole_batch import write_batch
from turnwise.record.database.database import Database
from turnwise.record.database.rows import RUN, run_of
from turnwise.record.database.schema import runs
from turnwise.record.tenants.admission import lock_admission, require_room
from turnwise.record.tenants.audit import write_deeds
from turnwise.record.transaction.idempotency import mismatch, used_for, write_once
from turnwise.record.transaction.journal import accepted
from turnwise.record.transaction.new_runs import write_accepted, write_run, write_runs
from turnwise.record.transaction.part import TenantPart
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.session_queue import take_place, take_places
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.record.webhooks.writing import write_of_runs

FirstMove = Callable[[RunTransaction], None]
_BY_KEY = sa.select(*RUN).where(
    runs.c.tenant == sa.bindparam("tenant"), runs.c.idempotency_key == sa.bindparam("idempotency_key")
)


class Submissions(TenantPart):
    """The submission of the tenant's runs."""

    def submit(self, new: NewRun, first_move: FirstMove | None = None) -> tuple[RunRecord, bool]:
        """Keep a run and its first event. Return the run as it was accepted, and whether it is new.

        `first_move` makes the move of a new run in the same transaction.

        An idempotency key that the tenant has used gives the run it made. Raises `ConflictError`
        (`idempotency_mismatch`) if that run came from another body, and `QuotaExceededError` (`too_many_runs`).
        """
        with self._database.begin() as connection:
            run, created = _admit(self._database, connection, self._tenant, new, self._max_unfinished_runs)
            if not created:
                return run, False
            self._audited(connection, run.id)
            # Nothing but its row is there of it.
            known = KnownRun(
                run=run, time=run.created_at, read_at=self.clock.monotonic(), frames={}, has_all_agents=True
            )
            transaction = RunTransaction(self._database, RunLock(connection), known, run.created_at)
            if first_move is None:
                write_accepted(connection, [run])
            else:  # the event goes with what the move writes
                transaction.write_accepted()
                first_move(transaction)
                transaction.flush()
        self._core.after_commit(transaction.run, [accepted(), *transaction.news])
        return run, True

    def submitted(self, key: str, body_hash: str | None) -> RunRecord | None:
        """Return the run or fork that an idempotency key has made from that body, None if it has made none.

        Raises `ConflictError` (`idempotency_mismatch`) if the key was used for another request.
        """
        with self._database.read() as connection:
            run = _known_run(connection, self._tenant, key, body_hash)
            if run is None:
                _refuse_used(connection, self._tenant, key)
            return run

    def submit_all(self, new: Sequence[NewRun]) -> list[RunRecord]:
        """Keep many runs and their first events, all or none; the runs, in this order. They are a batch of their own.

        They have no idempotency keys of their own: the request has one for all. Raises `RepeatedRequestError` if it was
        done before, `ConflictError` (`idempotency_mismatch`) if its key was used for another, and `QuotaExceededError`
        (`too_many_runs`).
        """
        most = self._max_unfinished_runs
        with self._database.begin() as connection:
            if self._once is not None:
                write_once(self._database, connection, self._once, json.dumps([one.id for one in new]))
            if most:
                lock_admission(self._database, connection, self._tenant)
                require_room(connection, self._tenant, most, len(new))
            places = take_places(self._database, connection, self._tenant, new)
            batch_id = new_id("bat")
            of_batch = [replace(one, batch_id=batch_id) for one in new]
            made = write_runs(self._database, connection, self._tenant, of_batch, places)
            write_of_runs(connection, made, new)
            write_accepted(connection, made)
            write_batch(connection, made)
            if self._deed is not None:
                write_deeds(connection, self._deed, [run.id for run in made])
        for run in made:
            self._core.after_commit(run, [accepted()])
        return made

    def request_cancel(self, run_id: str) -> RunRecord:
        """Ask for a run's end; the next move ends it. Asking twice is once.

        Raises `NotFoundError`, and `ConflictError` (`already_ended`) for a run with a final status.
        """
        with self._locked(run_id) as transaction:
            run = transaction.run
            if run.ended:
                raise ConflictError(f"the run {run_id} has already ended: {run.status}", code="already_ended")
            requested_at = transaction.now if run.cancel_requested_at is None else run.cancel_requested_at
            transaction.change(cancel_requested_at=requested_at, move_due_at=transaction.now)
            self._audited(transaction.connection, run_id)
            return transaction.run


def accept(
    database: Database, connection: Connection, tenant: str, new: NewRun, most: int | None
) -> tuple[RunRecord, bool]:
    """Write a run of the tenant, which may have `most` unfinished ones, and its first event.

    The run as it was accepted, and whether it is new. Raises as `Submissions.submit`.
    """
    run, created = _admit(database, connection, tenant, new, most)
    if created:
        write_accepted(connection, [run])
    return run, created


def _admit(
    database: Database, connection: Connection, tenant: str, new: NewRun, most: int | None
) -> tuple[RunRecord, bool]:
    """Do the same, but for the event."""
    run, created = admit_row(database, connection, tenant, new, most)
    if created:
        write_of_runs(connection, [run], [new])
    return run, created


def admit_row(
    database: Database, connection: Connection, tenant: str, new: NewRun, most: int | None
) -> tuple[RunRecord, bool]:
    """Write the row of a run of the tenant, which may have `most` unfinished ones.

    That run, or the one that its idempotency key has made, and whether it is new. Raises as `Submissions.submit`.
    """
    if most:
        lock_admission(database, connection, tenant)
    # Without a limit the row's own key finds the earlier run. Taking a place would change the session.
    if most or new.session_id is not None:
        known = _known_run(connection, tenant, new.idempotency_key, new.body_hash)
        if known is not None:
            return known, False
    if most:
        require_room(connection, tenant, most)
    place = take_place(database, connection, tenant, new)
    while (run := write_run(database, connection, tenant, new, place)) is None:
        known = _known_run(connection, tenant, new.idempotency_key, new.body_hash)
        if known is not None:
            return known, False
        # It was old, and has been deleted since: the key is free.
    _refuse_used(connection, tenant, new.idempotency_key)
    return run, True


def _known_run(connection: Connection, tenant: str, key: str | None, body_hash: str | None) -> RunRecord | None:
    """Return the run that the idempotency key has made, None if there is none.

    Raises `ConflictError` (`idempotency_mismatch`) if that run came from another body.
    """
    if key is None:
        return None
    row = connection.execute(_BY_KEY, {"tenant": tenant, "idempotency_key": key}).first()
    if row is None:
        return None
    run = run_of(row)
    if run.body_hash != body_hash:
        raise mismatch(key, run.id)
    return run


def ids_of_batch(resource: str) -> list[str] | None:
    """The runs that `submit_all` made for the request that `resource` was kept of; None if it was another request."""
    return json.loads(resource) if resource.startswith('["') else None


def _refuse_used(connection: Connection, tenant: str, key: str | None) -> None:
    """Raise `ConflictError` for a key that was used for a request that made no run."""
    other = None if key is None else used_for(connection, tenant, key)
    if key is not None and other is not None:
        raise mismatch(key, other)
