"""The repair of losses: lapsed leases, moves that are due, lost permits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, partial
from math import inf
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.asks.lost_attempts import take_over
from turnwise.record.asks.pause_conditions import ASK_IS_PAUSED
from turnwise.record.budgets.reservations import OrphanedReservations
from turnwise.record.database.columns import now, parts_of, word
from turnwise.record.database.faults import is_lock_timeout
from turnwise.record.database.rows import ASK, ask_of
from turnwise.record.database.schema import asks, runs, sweep_leases, workers
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED, AskStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.session_queue import LEFT_WAITING
from turnwise.record.values.records import AskRecord

logger = logging.getLogger(__name__)

# After this many seconds without the expected word, the sweeper gives it.
PATIENCE = 2.0
# After this many, a run that was to end is ended by processes of another version than its own, if it is pinned.
FOREIGN_PATIENCE = 10.0
# No move is deferred for as long, so one that seems to be was due before the database's clock was set back.
_FAR_AHEAD = 10.0
_BATCH = 100
# Seconds that the database's clock gains on a process's within one pass and the next only if it was set.
_CLOCK_WAS_SET = 1.0
# Whatever held a sweep up for this part of a lease, and so many seconds, may have held up the beats of living workers.
_HELD_UP, _HELD_UP_LEAST = 0.5, 1.0

# The lock of a beat. Whoever keeps a sweep from it keeps all beats from it, too, so it is not waited for. PostgreSQL's.
_LOCK_AS_BEATS_DO = sa.text("LOCK TABLE workers IN ROW EXCLUSIVE MODE NOWAIT")
_LAPSE = (
    sa.update(workers)
    .where(workers.c.state == word("alive"), workers.c.lease_until < now())
    .values(state="dead")
    .returning(workers.c.id, workers.c.kind, workers.c.host, workers.c.pid)
)
# Who is long gone is of interest to no one.
_FORGET = sa.delete(workers).where(workers.c.state != "alive", workers.c.beat_at < now() - 3_600.0)
_ALL_DEAD = sa.update(workers).where(workers.c.state == word("alive")).values(state="dead")
_LOST = (
    sa.select(asks.c.run_id, asks.c.id)
    .where(
        asks.c.status == word(AskStatus.LEASED),
        ~sa.exists().where(workers.c.id == asks.c.worker_id, workers.c.state == word("alive")),
    )
    .limit(_BATCH)
)
_IS_LOST = sa.select(sa.literal(1)).where(
    ~sa.exists().where(workers.c.id == sa.bindparam("worker_id"), workers.c.state == word("alive"))
)
_UNFINISHED = status_in(runs.c.status, UNFINISHED)
_most = sa.bindparam("most", type_=sa.Integer)
_DUE_MOVES = (
    sa.select(runs.c.id)
    .where(
        runs.c.move_due_at.is_not(None),
        sa.or_(
            runs.c.move_due_at <= now() - sa.bindparam("patience", type_=sa.Double),
            runs.c.move_due_at > now() + _FAR_AHEAD,
        ),
    )
    .order_by(runs.c.move_due_at)
    .limit(_most)
)
_OVERDUE = (
    sa.select(runs.c.id).where(_UNFINISHED, runs.c.deadline_at <= now()).order_by(runs.c.deadline_at).limit(_most)
)
# Runs that are to end, and whose own version has not done it.
_UNENDED = (
    sa.select(runs.c.id)
    .where(
        _UNFINISHED,
        runs.c.version != sa.bindparam("version"),
        sa.or_(runs.c.cancel_requested_at <= now() - FOREIGN_PATIENCE, runs.c.deadline_at <= now() - FOREIGN_PATIENCE),
    )
    .limit(_most)
)
_wait = parts_of(runs.c.waiting_for)
# Runs that an older Turnwise holds for one that reads the version of their state. Each older process that comes first
# makes them due later, so they may never be due when a newer one sweeps.
_HELD = (
    sa.select(runs.c.id)
    .where(
        runs.c.move_due_at.is_not(None),
        # A cause of another kind, which may be a later version's, may have any other `state`.
        sa.case((_wait["kind"].as_string() == "upgrade", _wait["state"].as_integer()))
        <= sa.bindparam("state", type_=sa.Integer),
    )
    .order_by(runs.c.move_due_at)
    .limit(_most)
)
_of_version = runs.c.version == sa.bindparam("version")
_DUE = tuple((all_, all_.where(_of_version)) for all_ in (_OVERDUE, _DUE_MOVES, LEFT_WAITING, _HELD))
_waits = ((0, 5.0), (1, 10.0), (2, 20.0), (3, 40.0))
_LONGEST_WAIT = 60.0
# A time of the past that lies ahead was written before the database's clock was set back.
_FORGOTTEN = (
    sa.select(asks.c.run_id, asks.c.id)
    .where(
        asks.c.queue == sa.bindparam("of_queue"),
        asks.c.status == word(AskStatus.RUNNABLE),
        sa.or_(asks.c.created_at <= now() - PATIENCE, asks.c.created_at > now()),
        sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
        asks.c.bucket.is_(None),  # what waits for a provider is seen to by `next_in_line`
        sa.not_(ASK_IS_PAUSED),
        sa.or_(asks.c.topup_after.is_(None), asks.c.topup_after <= now(), asks.c.topup_after > now() + _LONGEST_WAIT),
    )
    .order_by(asks.c.priority.desc(), asks.c.created_at)
    .limit(sa.bindparam("most", type_=sa.Integer))
    .offset(sa.bindparam("waiting", type_=sa.Integer))
    .with_for_update(skip_locked=True)  # of the ask alone, waiting for no one: no lock order to keep
)


def _top_up(forgotten: sa.Select[tuple[str, str]]) -> ReturningUpdate[Any]:
    wait = sa.case(*((asks.c.topups == times, wait) for times, wait in _waits), else_=_LONGEST_WAIT)
    return (
        sa.update(asks)
        .where(sa.tuple_(asks.c.run_id, asks.c.id).in_(forgotten))
        .values(topups=asks.c.topups + 1, topup_after=now() + wait)
        .returning(*ASK)
    )


_TOP_UP = _top_up(_FORGOTTEN)
_TOP_UP_PINNED = _top_up(_FORGOTTEN.where(sa.exists().where(runs.c.id == asks.c.run_id, _of_version)))


@cache
def _lease(is_postgres: bool) -> ReturningInsert[Any]:
    """Take a queue's lease, or renew one's own; gives no row while it is another's.

    One that ends later than one that is taken now was taken before the database's clock was set back. Its holder may
    be gone, and if it lives, two at a time cost a second look.
    """
    holder = sa.bindparam("by_holder", type_=sa.Text)
    until: sa.ColumnElement[float] = now() + sa.bindparam("for_seconds", type_=sa.Double)
    insert = postgresql.insert if is_postgres else sqlite.insert
    statement: Any = insert(sweep_leases).values(
        queue=sa.bindparam("of_queue", type_=sa.Text), holder=holder, lease_until=until
    )
    return statement.on_conflict_do_update(  # type: ignore[no-any-return]
        index_elements=[sweep_leases.c.queue],
        set_={"holder": statement.excluded.holder, "lease_until": statement.excluded.lease_until},
        where=sa.or_(
            sweep_leases.c.holder == holder, sweep_leases.c.lease_until <= now(), sweep_leases.c.lease_until > until
        ),
    ).returning(sweep_leases.c.holder)


class Sweep(OrphanedReservations):
    """One pass of each kind; how often is for the caller to decide."""

    _quiet_until: float | None = None
    # Seconds by which the database's clock was ahead of this process's monotonic one at the last pass.
    _ahead: float | None = None

    def sweep_lease(self, queue: str, holder: str, seconds: float) -> bool:
        """Become or stay the one who sweeps `queue`; False while another holds its lease."""
        given = {"of_queue": queue, "by_holder": holder, "for_seconds": seconds}
        with self._database.begin() as connection:
            return connection.execute(_lease(self._database.is_postgres), given).first() is not None

    def wait_one_lease(self, held_up: float = inf) -> None:
        """Take nothing over for a lease from now on, so that holders who were cut off can renew first.

        To be called when a sweeper starts, and after it slept `held_up` seconds longer than it should, since its
        process was stopped, or the machine: less than half a lease changes nothing. A sweep that finds the database
        away or the beats locked out, or is held up, does it by itself.
        """
        if held_up > max(_HELD_UP_LEAST, _HELD_UP * self._core.lease_seconds):
            self._quiet_until = self.clock.monotonic() + self._core.lease_seconds

    def expire_leases(self) -> list[AskRecord]:
        """Take over the asks of workers whose lease has ended. Return those that are runnable again.

        An ask that has been claimed `max_attempts` times is parked instead: a person has to say how to continue.
        """
        try:
            if not self._lapse():
                return []
            taken = self._retake_lost()
            self.settle_orphans()
            return taken
        except DatabaseUnavailableError:
            self.wait_one_lease()
            raise

    def take_over_all(self) -> list[AskRecord]:
        """Declare every incarnation dead at once, for a server that knows itself to be the only one."""
        with self._database.begin() as connection:
            connection.execute(_ALL_DEAD)
        taken: list[AskRecord] = []
        while batch := self._retake_lost():
            taken += batch
        self.settle_orphans()
        return taken

    def due_moves(
        self, limit: int = _BATCH, patience: float = PATIENCE, version: str | None = None, state: int | None = None
    ) -> list[str]:
        """Runs that wait for a move since `patience` seconds, whose deadline has passed, or whose turn has come.

        The last are runs of a session that waited for another which has ended. With `version`, those that began with
        it, and those of others that were to end 10 s ago. With `state`, also those that an older Turnwise holds for one
        that reads states up to it.
        """
        given = {"most": limit, "patience": patience, "version": version, "state": state}
        found: list[str] = []
        with self._database.read() as connection:
            for of_all, of_version in _DUE:
                found += connection.execute(of_all if version is None else of_version, given).scalars()
            if version is not None:
                found += connection.execute(_UNENDED, given).scalars()
        return list(dict.fromkeys(found))[:limit]

    def permits(self, queue: str, waiting: int, version: str | None = None) -> list[AskRecord]:
        """Asks to be published again: those runnable for 2 s, less the `waiting` messages of the queue.

        An ask given here is not counted again for 5 s, then 10, 20, 40, and from then on 60. With `version`, asks of
        runs that began with it.
        """
        given = {"of_queue": queue, "waiting": waiting, "most": _BATCH, "version": version}
        with self._database.begin() as connection:
            rows = connection.execute(_TOP_UP if version is None else _TOP_UP_PINNED, given).all()
        return sorted((ask_of(row) for row in rows), key=lambda ask: (-ask.priority, ask.created_at))

    def _lapse(self) -> bool:
        """Declare those dead whose lease has ended; return False if the living may have been unable to renew theirs."""
        began = self.clock.monotonic()
        if self._is_quiet():
            return False
        try:
            with self._database.begin() as connection:
                if self._database.is_postgres:
                    connection.execute(_LOCK_AS_BEATS_DO)
                was_set = self._clock_was_set(connection)
                # Until here it may have waited for a database that hung, or for another who wrote, as the beats have.
                self.wait_one_lease(self.clock.monotonic() - began)
                if was_set:
                    self.wait_one_lease()
                if self._is_quiet() or self._restarted_lately(connection):
                    return False
                lost = connection.execute(_LAPSE).all()
                connection.execute(_FORGET)
        except DatabaseUnavailableError as error:
            if not is_lock_timeout(error.__cause__):
                raise
            self.wait_one_lease()
            return False
        _tell_lost(lost)
        return True

    def _is_quiet(self) -> bool:
        return self._quiet_until is not None and self.clock.monotonic() < self._quiet_until

    def _clock_was_set(self, connection: Connection) -> bool:
        """Return whether the database's clock has gone ahead of this process's since the last pass.

        It was corrected, or the machine was asleep. Leases that seem to have ended are renewed at the next beat.
        """
        ahead = self._database.now(connection) - self.clock.monotonic()
        before, self._ahead = self._ahead, ahead
        return before is not None and ahead - before > _CLOCK_WAS_SET

    def _restarted_lately(self, connection: Connection) -> bool:
        """Return whether PostgreSQL came up within the last lease: an outage that this process may have slept
        through.
        """
        if not self._database.is_postgres:
            return False
        age = connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())"))
        return float(age.scalar_one()) < self._core.lease_seconds

    def _retake_lost(self) -> list[AskRecord]:
        with self._database.read() as connection:
            lost = connection.execute(_LOST).all()
        taken = (
            self._if_free(run_id, partial(_retake, ask_id=ask_id), "ask_not_taken_over", ask=ask_id)
            for run_id, ask_id in lost
        )
        return [ask for ask in taken if ask is not None]


def _retake(transaction: RunTransaction, ask_id: str) -> AskRecord | None:
    """Take the ask over if its worker is still lost; return it if it is runnable again."""
    ask = transaction.ask(ask_id)
    if ask is None or not _is_lost(transaction, ask):
        return None
    return ask if take_over(transaction, ask) else None


def _is_lost(transaction: RunTransaction, ask: AskRecord) -> bool:
    if ask.status != AskStatus.LEASED:
        return False
    return transaction.connection.execute(_IS_LOST, {"worker_id": ask.worker_id}).first() is not None


def _tell_lost(lost: Sequence[Any]) -> None:
    for worker, kind, host, pid in lost:
        logger.warning(
            "A process of %s fell silent and counts as dead; what it held is taken over",
            kind,
            extra={"action": "worker_lost", "worker": worker, "kind": kind, "host": host, "pid": pid},
        )
