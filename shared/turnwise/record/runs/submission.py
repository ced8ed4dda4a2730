"""Accepting runs and asking for their end."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError
from turnwise.record.database.columns import now
from turnwise.record.database.rows import RUN, as_row, run_of
from turnwise.record.database.schema import events, runs
from turnwise.record.events.run_events import RunAccepted
from turnwise.record.runs.idempotency import mismatch, used_for
from turnwise.record.runs.journal import accepted
from turnwise.record.runs.part import TenantPart
from turnwise.record.runs.records import NewRun, RunRecord
from turnwise.record.runs.session_queue import take_place
from turnwise.record.states import RunStatus, passed
from turnwise.record.tenants.admission import lock_admission, require_room

_BY_KEY = sa.select(*RUN).where(
    runs.c.tenant == sa.bindparam("tenant"), runs.c.idempotency_key == sa.bindparam("idempotency_key")
)


class Submissions(TenantPart):
    """The submission of the tenant's runs."""

    def submit(self, new: NewRun) -> tuple[RunRecord, bool]:
        """Keep a run and its first event; the run, and whether it is new.

        An idempotency key that the tenant has used gives the run it made. Raises `ConflictError`
        (`idempotency_mismatch`) if that run came from another body, and `QuotaExceededError` (`too_many_runs`).
        """
        with self._database.begin() as connection:
            most = self._max_unfinished_runs
            if most:
                lock_admission(self._database, connection, self._tenant)
            # In a session the key is looked up first, because taking a place changes the session.
            known = _of_key(connection, self._tenant, new) if most or new.session_id is not None else None
            if most and known is None:
                require_room(connection, self._tenant, most)
            run = self._insert(connection, new) if known is None else None
            if run is None:
                return _same(known or _of_key(connection, self._tenant, new), new.idempotency_key, new.body_hash), False
            _refuse_used(connection, self._tenant, new.idempotency_key)
            self._accept(connection, run)
            self._audited(connection, run.id)
        self._core.after_commit(run, [accepted()])
        return run, True

    def request_cancel(self, run_id: str) -> RunRecord:
        """Ask for a run's end; the next move ends it. Asking twice is once.

        Raises `NotFoundError`, and `ConflictError` (`already_ended`) for a run with a final status.
        """
        with self._locked(run_id) as transaction:
            run = transaction.run
            if run.ended:
                raise ConflictError(f"the run {run_id} has already ended: {run.status}", code="already_ended")
            if run.cancel_requested_at is None:
                transaction.change(cancel_requested_at=transaction.now, move_due_at=transaction.now)
            self._audited(transaction.connection, run_id)
            return transaction.run

    def _known(self, connection: Connection, tenant: str, key: str | None, body_hash: str | None) -> RunRecord | None:
        """The run that the idempotency key has made, None if there is none; raises `ConflictError` for another body."""
        if key is None:
            return None
        row = connection.execute(_BY_KEY, {"tenant": tenant, "idempotency_key": key}).first()
        if row is None:
            _refuse_used(connection, tenant, key)
            return None
        return _same(run_of(row), key, body_hash)

    def _insert(self, connection: Connection, new: NewRun) -> RunRecord | None:
        """Write the row of a new run, None if its idempotency key is known."""
        place = take_place(self._database, connection, self._tenant, new)
        status = passed(None, RunStatus.QUEUED)
        values = as_row(
            new,
            tenant=self._tenant,
            status=status,
            last_seq=1,
            created_at=now(),
            move_due_at=now(),
            tags=list(new.tags),
            **place,
        )
        deadline = values.pop("deadline")
        values["deadline_at"] = None if deadline is None else now() + deadline
        statement = self._database.insert(runs).values(values)
        if new.idempotency_key is not None:
            statement = statement.on_conflict_do_nothing(
                index_elements=["tenant", "idempotency_key"], index_where=sa.text("idempotency_key IS NOT NULL")
            )
        row = connection.execute(statement.returning(*RUN)).first()
        return run_of(row) if row is not None else None

    def _accept(self, connection: Connection, run: RunRecord) -> None:
        told = RunAccepted(task=run.task, version=run.version)
        row = {"run_id": run.id, "seq": 1, "type": told.type, "at": run.created_at, "data": told.as_json()}
        connection.execute(sa.insert(events), row)


def _of_key(connection: Connection, tenant: str, new: NewRun) -> RunRecord | None:
    """The run that the idempotency key has made, if there is one."""
    if new.idempotency_key is None:
        return None
    row = connection.execute(_BY_KEY, {"tenant": tenant, "idempotency_key": new.idempotency_key}).first()
    return run_of(row) if row is not None else None


def _refuse_used(connection: Connection, tenant: str, key: str | None) -> None:
    """Raise `ConflictError` for a key that was used for a request that made no run."""
    other = None if key is None else used_for(connection, tenant, key)
    if key is not None and other is not None:
        raise mismatch(key, other)


def _same(run: RunRecord | None, key: str | None, body_hash: str | None) -> RunRecord:
    assert run is not None, "only a known key keeps a run from being written"
    if run.body_hash != body_hash:
        raise mismatch(str(key), run.id)
    return run
