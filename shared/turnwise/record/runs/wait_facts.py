"""All that it takes to say why a run waits: the run, what it asked, who holds that, and who is there to continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.waits import ProviderBatchWait, SessionWait
from turnwise.record.asks.pauses import PauseRecord, pause_for, read_pauses
from turnwise.record.asks.worker_records import WorkerRecord
from turnwise.record.database.columns import ONE, now, word
from turnwise.record.database.provider_batch_tables import collected_asks, provider_batches
from turnwise.record.database.rows import ASK, RUN, ask_of, names, run_of
from turnwise.record.database.schema import asks, events, runs, sweep_leases, workers
from turnwise.record.database.status_statements import status_in
from turnwise.record.events.run_events import RunRetried
from turnwise.record.events.usage_events import LimitReached, read_limit_reached
from turnwise.record.states import UNFINISHED, AskStatus
from turnwise.record.transaction.part import RecordPart, unknown_run
from turnwise.record.values.records import AskRecord, RunRecord

COORDINATOR = "coordinator"


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedCall:
    """A model's call that waits for a batch of its provider.

    Collected then, and submitted then (None: not yet), after so many batches that did not answer it; `error` is that of
    the last one.
    """

    collected_at: float
    submitted_at: float | None
    tries: int
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """Of one run at one time (`now`, by the database's clock).

    `ask` is the one that the run waits for, `holder` who claimed it. `fleet` are the workers and coordinators whose
    lease has not run out and that may work on this run, or None if no one looked; `others` those that may not, because
    of their version. `sweeping`: some coordinator sweeps, also one of a program that does not sign on. `before` is the
    unfinished run of its session that it waits for, `ahead` how many runnable asks of its queue are older or more
    urgent (None: not counted). `pause` keeps the run from beginning, or its ask from being claimed. `limit_reached` is
    what the event of that name tells of a run that a limit of cost or tokens ended.
    `retried_at` is when a run that its deadline ended was retried last, None if it never was.
    `collected` is the call that a batch of its provider is to answer.
    """

    run: RunRecord
    now: float
    ask: AskRecord | None = None
    holder: WorkerRecord | None = None
    fleet: tuple[WorkerRecord, ...] | None = None
    others: tuple[WorkerRecord, ...] = ()
    sweeping: bool = False
    before: str | None = None
    ahead: int | None = None
    pause: PauseRecord | None = None
    limit_reached: LimitReached | None = None
    retried_at: float | None = None
    collected: CollectedCall | None = None


_WORKER = tuple(workers.c)
_WORKER_NAMES = names(_WORKER)
# One statement, so that run, ask and holder are of the same moment.
_OF_RUNS = (
    sa.select(*RUN, *ASK, *_WORKER, now())
    .select_from(runs)
    .outerjoin(asks, sa.and_(asks.c.run_id == runs.c.id, asks.c.id == runs.c.awaiting))
    .outerjoin(workers, workers.c.id == asks.c.worker_id)
    .where(runs.c.id.in_(sa.bindparam("ids", expanding=True)))
)
_FLEET = sa.select(*_WORKER).where(
    workers.c.state == word("alive"), workers.c.lease_until > now(), workers.c.draining_since.is_(None)
)
_SWEEPING = sa.select(sa.literal(1)).where(sweep_leases.c.lease_until > now()).limit(ONE)
_UNFINISHED_OF = sa.select(runs.c.id).where(
    runs.c.id.in_(sa.bindparam("ids", expanding=True)), status_in(runs.c.status, UNFINISHED)
)
_AHEAD = (
    sa.select(sa.func.count())
    .select_from(asks)
    .where(
        asks.c.queue == sa.bindparam("of_queue"),
        asks.c.status == word(AskStatus.RUNNABLE),
        sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
        sa.or_(
            asks.c.priority > sa.bindparam("of_priority"),
            sa.and_(asks.c.priority == sa.bindparam("of_priority"), asks.c.created_at < sa.bindparam("of_created_at")),
        ),
    )
)

_AT_BUDGET = ("MAX_COST", "MAX_TOKENS")
_OUT_OF_TIME = "TIMEOUT"
# The codes of runs of which events tell more of the limit that ended them: whose it was, how it was reached, since when
# the time was counted.
LIMIT_CODES = (*_AT_BUDGET, _OUT_OF_TIME)
# It is the event before the last one, but a call that was lost may report later.
_LATE_EVENTS = 50
_LIMITS_REACHED = (
    sa.select(events.c.run_id, events.c.data)
    .join(runs, runs.c.id == events.c.run_id)
    .where(
        runs.c.id.in_(sa.bindparam("ids", expanding=True)),
        events.c.seq > runs.c.last_seq - _LATE_EVENTS,
        events.c.type == "limit.reached",
    )
    .order_by(events.c.seq)
)
_RETRIED = (
    sa.select(events.c.run_id, sa.func.max(events.c.at))
    .where(events.c.run_id.in_(sa.bindparam("ids", expanding=True)), events.c.type == word(RunRetried.type))
    .group_by(events.c.run_id)
)

_COLLECTED = (
    sa.select(
        collected_asks.c.run_id,
        collected_asks.c.collected_at,
        provider_batches.c.submitted_at,
        collected_asks.c.tries,
        collected_asks.c.error,
    )
    .join(runs, sa.and_(runs.c.id == collected_asks.c.run_id, runs.c.awaiting == collected_asks.c.ask_id))
    .outerjoin(provider_batches, provider_batches.c.id == collected_asks.c.batch_id)
    .where(collected_asks.c.run_id.in_(sa.bindparam("ids", expanding=True)))
)


class Situations(RecordPart):
    """Reads situations, without locks."""

    def situation(self, run_id: str, *, pinned: bool = False) -> Situation:
        """The run's situation, its place in the queue counted; `NotFoundError` if there is no such run.

        `pinned`: only processes of the run's version may work on it.
        """
        found = self.situations([run_id], pinned=pinned)
        if not found:
            raise unknown_run(run_id)
        one, ask = found[0], found[0].ask
        if ask is None or ask.status != AskStatus.RUNNABLE or ask.queue is None:
            return one
        given = {"of_queue": ask.queue, "of_priority": ask.priority, "of_created_at": ask.created_at}
        with self._database.read() as connection:
            return replace(one, ahead=connection.execute(self._own(_AHEAD, asks.c.run_id), given).scalar_one())

    def situations(self, run_ids: Sequence[str], *, pinned: bool = False) -> list[Situation]:
        """The situations of those runs that exist, in the order given."""
        if not run_ids:
            return []
        with self._database.read() as connection:
            rows = connection.execute(self._own(_OF_RUNS, runs.c.id), {"ids": list(run_ids)}).all()
            fleet = [_worker(row) for row in connection.execute(_FLEET)]
            sweeping = connection.execute(_SWEEPING).first() is not None
            found = (_situation(tuple(row), fleet, sweeping, pinned) for row in rows)
            pauses = read_pauses(connection)
            made = {one.run.id: _with_pause(one, pauses) for one in found}
            unfinished = _unfinished(connection, [one.before for one in made.values() if one.before])
            at_limits = [one.run.id for one in made.values() if one.run.ended and one.run.status_code in _AT_BUDGET]
            for row in connection.execute(_LIMITS_REACHED, {"ids": at_limits}) if at_limits else ():
                made[row[0]] = replace(made[row[0]], limit_reached=read_limit_reached(row[1]))
            late = [one.run.id for one in made.values() if one.run.ended and one.run.status_code == _OUT_OF_TIME]
            for row in connection.execute(_RETRIED, {"ids": late}) if late else ():
                made[row[0]] = replace(made[row[0]], retried_at=row[1])
            batched = [one.run.id for one in made.values() if isinstance(one.run.waiting_for, ProviderBatchWait)]
            for each in connection.execute(_COLLECTED, {"ids": batched}) if batched else ():
                made[each[0]] = replace(made[each[0]], collected=_collected(each))
        return [
            one if one.before in unfinished else replace(one, before=None)
            for one in (made[run_id] for run_id in run_ids if run_id in made)
        ]


def _situation(row: tuple[object, ...], fleet: list[WorkerRecord], sweeping: bool, pinned: bool) -> Situation:
    ask_at, worker_at = len(RUN), len(RUN) + len(ASK)
    run = run_of(row[:ask_at])
    wait = run.waiting_for
    others = [one for one in fleet if pinned and one.version != run.version]
    seconds = row[-1]
    assert isinstance(seconds, float)
    return Situation(
        run=run,
        now=seconds,
        ask=ask_of(row[ask_at:worker_at]) if row[ask_at] is not None else None,
        holder=_worker(row[worker_at:-1]) if row[worker_at] is not None else None,
        fleet=tuple(one for one in fleet if one not in others),
        others=tuple(others),
        sweeping=sweeping,
        before=wait.run if isinstance(wait, SessionWait) else None,
    )


def _collected(row: Sequence[Any]) -> CollectedCall:
    return CollectedCall(collected_at=row[1], submitted_at=row[2], tries=row[3], error=row[4])


def _with_pause(one: Situation, pauses: list[PauseRecord]) -> Situation:
    return replace(one, pause=pause_for(pauses, one.run, one.ask.queue if one.ask else None)) if pauses else one


def _unfinished(connection: Connection, ids: list[str]) -> frozenset[str]:
    if not ids:
        return frozenset()
    return frozenset(connection.execute(_UNFINISHED_OF, {"ids": ids}).scalars())


def _worker(row: Sequence[object]) -> WorkerRecord:
    return WorkerRecord(**dict(zip(_WORKER_NAMES, row, strict=True)))  # type: ignore[arg-type]  # columns are the fields
