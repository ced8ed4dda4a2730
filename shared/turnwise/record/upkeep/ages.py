"""The oldest of what is under way, and what has ended lately, by task; nothing here locks.

Each statement reads a partial index, so what has ended long ago costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from turnwise.record.database.columns import now, parts_of, word
from turnwise.record.database.schema import asks, runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNANSWERED, UNFINISHED, AskStatus, RunStatus
from turnwise.record.transaction.part import RecordPart

_UNFINISHED = status_in(runs.c.status, UNFINISHED)
_waits = status_in(runs.c.status, (RunStatus.QUEUED, RunStatus.WAITING))
_kind = parts_of(runs.c.waiting_for)["kind"].as_string()
_OLDEST_RUNS = (
    sa.select(runs.c.task, runs.c.status, now() - sa.func.min(runs.c.created_at))
    .where(_UNFINISHED)
    .group_by(runs.c.task, runs.c.status)
)
_awaited = sa.and_(asks.c.run_id == runs.c.id, asks.c.id == runs.c.awaiting)
_parked_since = sa.case((asks.c.status == word(AskStatus.PARKED), asks.c.parked_at))
# A run waits since it was asked what it waits for; one that was asked nothing yet, since it was accepted.
_since = sa.func.min(sa.func.coalesce(_parked_since, asks.c.created_at, runs.c.created_at))
_OLDEST_WAITS = (
    sa.select(_kind, runs.c.task, now() - _since)
    .select_from(runs.outerjoin(asks, _awaited))
    # Unfinished ones first, in the words of the partial index: SQLite uses it for no other condition.
    .where(_UNFINISHED, _waits, runs.c.waiting_for.is_not(None))
    .group_by(_kind, runs.c.task)
)
# A condition for each, so that each can use its partial index.
_living = sa.or_(*(asks.c.status == word(status) for status in UNANSWERED))
# These wait for another run's end, or for a person who pauses and resumes; all others for an ask.
_held = sa.func.coalesce(_kind, word("")).in_([word("session"), word("paused")])
_FORGOTTEN = (
    sa.select(runs.c.task, sa.func.count())
    .where(_UNFINISHED, runs.c.move_due_at.is_(None), ~_held, ~sa.exists().where(_awaited, _living))
    .group_by(runs.c.task)
)
_OLDEST_LEASES = (
    sa.select(asks.c.queue, runs.c.task, asks.c.agent, now() - sa.func.min(asks.c.claimed_at))
    .select_from(asks.join(runs, runs.c.id == asks.c.run_id))
    .where(asks.c.status == word(AskStatus.LEASED), asks.c.queue.is_not(None))
    .group_by(asks.c.queue, runs.c.task, asks.c.agent)
)


def _ended(minute: sa.ColumnElement[int]) -> sa.Select[int, str, str, int]:
    return (
        sa.select(minute, runs.c.task, runs.c.status, sa.func.count())
        .where(runs.c.finished_at.is_not(None), runs.c.finished_at >= sa.bindparam("since", type_=sa.Double))
        .group_by(minute, runs.c.task, runs.c.status)
    )


# SQLite's cast cuts off what PostgreSQL's would round; a SQLite without mathematical functions has no floor.
_ENDED = {
    True: _ended(sa.cast(sa.func.floor(runs.c.finished_at / 60), sa.BigInteger)),
    False: _ended(sa.cast(runs.c.finished_at / 60, sa.Integer)),
}


@dataclass(frozen=True, slots=True)
class OldestRun:
    """Seconds since the acceptance of a task's oldest run of that status."""

    task: str
    status: str
    age: float


@dataclass(frozen=True, slots=True)
class OldestWait:
    """Seconds that the first of a task's runs has waited for that kind of thing."""

    kind: str
    task: str
    age: float


@dataclass(frozen=True, slots=True)
class Forgotten:
    """So many runs of a task that nothing will continue with."""

    task: str
    length: int


@dataclass(frozen=True, slots=True)
class OldestLease:
    """Seconds since the claim of the oldest leased ask of a queue, task and agent."""

    queue: str
    task: str
    agent: str
    age: float


@dataclass(frozen=True, slots=True)
class Ended:
    """So many runs of a task ended with that status, in that minute since the epoch."""

    minute: int
    task: str
    status: str
    length: int


class Ages(RecordPart):
    """Reads without locks."""

    def oldest_runs(self) -> list[OldestRun]:
        """The age of the oldest unfinished run, by task and status."""
        with self._database.read() as connection:
            rows = connection.execute(_OLDEST_RUNS).all()
        return [OldestRun(task, status, max(age, 0.0)) for task, status, age in rows]

    def oldest_waits(self) -> list[OldestWait]:
        """The longest wait of runs that hold no worker, by what they wait for and by task."""
        with self._database.read() as connection:
            rows = connection.execute(_OLDEST_WAITS).all()
        return [OldestWait(kind or "unknown", task, max(age, 0.0)) for kind, task, age in rows]

    def forgotten_runs(self) -> list[Forgotten]:
        """Runs that are not over, although no ask of theirs is open and no move is due."""
        with self._database.read() as connection:
            rows = connection.execute(_FORGOTTEN).all()
        return [Forgotten(task, length) for task, length in rows]

    def oldest_leases(self) -> list[OldestLease]:
        """The age of the oldest lease, by queue, task and agent."""
        with self._database.read() as connection:
            rows = connection.execute(_OLDEST_LEASES).all()
        return [OldestLease(queue, task, agent, max(age, 0.0)) for queue, task, agent, age in rows]

    def ended_runs(self, seconds: float) -> tuple[int, list[Ended]]:
        """The present minute, and the runs that ended within `seconds` and since the begin of that minute."""
        with self._database.read() as connection:
            at = self._database.now(connection)
            since = (at - seconds) // 60 * 60
            rows = connection.execute(_ENDED[self._database.is_postgres], {"since": since}).all()
        return int(at // 60), [Ended(int(minute), task, status, length) for minute, task, status, length in rows]
