"""The statements that find the best ask of a queue and lease it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import UserDefinedType

from turnwise.record.asks.pause_conditions import ASK_IS_PAUSED, QUEUE_IS_OPEN, TASK_IS_OPEN, TENANT_IS_OPEN
from turnwise.record.budgets.provider_windows import CLOSED
from turnwise.record.database.columns import ONE, now, word
from turnwise.record.database.rows import AGENT, ASK, RUN, names
from turnwise.record.database.schema import agent_states, asks, documents, frames, runs, workers
from turnwise.record.database.status_statements import change_asks, status_in
from turnwise.record.states import UNFINISHED, AskStatus, RunStatus
from turnwise.record.transaction.statements import LAST_EVENT
from turnwise.record.values.records import AskRecord, Json

# Beside being runnable: its time has come, and the provider that it waits for has room.
_CLAIMABLE = sa.and_(
    sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
    sa.or_(asks.c.bucket.is_(None), asks.c.bucket.not_in(CLOSED)),
)
# The same, and no pause holds it, where its run is not joined.
CLAIMABLE_UNJOINED = sa.and_(_CLAIMABLE, sa.not_(ASK_IS_PAUSED))

_ASK_AT = len(RUN)
_BODY_AT = _ASK_AT + len(ASK)
_AGENT_AT = _BODY_AT + 1
_LAST_AT = _AGENT_AT + len(AGENT)
_FRAMES_AT = _LAST_AT + 1
_PLACE_AT = _FRAMES_AT + 1
_LEASE_AT = _PLACE_AT + 1
_LEASE = (asks.c.attempts, asks.c.token, asks.c.claimed_at)
_FRAMES = (
    sa.select(sa.func.json_agg(sa.func.json_build_array(frames.c.no, frames.c.path, frames.c.state)))
    .where(frames.c.run_id == runs.c.id)
    .correlate(runs)
)


class _Place(UserDefinedType[str]):
    """PostgreSQL's type for the place of a row."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return its name."""
        return "tid"


# Where the row is stored: by any other condition, PostgreSQL may choose to look through all asks that are runnable.
_PLACE: sa.ColumnElement[str] = sa.literal_column("asks.ctid", _Place())


@dataclass(frozen=True, slots=True)
class Candidate:
    """An ask with what was read together with it, as values of the tables' columns.

    `last` is the time of its run's last event. PostgreSQL gives the `frames` and the `place` as well, and `lease_best`
    the `lease`.
    """

    run: Sequence[Any]
    ask: Sequence[Any]
    message: Json | None
    agent: Sequence[Any]
    last: float | None
    frames: Sequence[Sequence[Any]] | None = None
    place: str | None = None
    lease: Sequence[Any] | None = None

    @classmethod
    def of(cls, row: Sequence[Any]) -> Candidate:
        """A candidate from a row of `candidate` or of `lease_best`."""
        parts = row[:_ASK_AT], row[_ASK_AT:_BODY_AT], row[_BODY_AT], row[_AGENT_AT:_LAST_AT], row[_LAST_AT]
        if len(row) <= _FRAMES_AT:
            return cls(*parts)
        lease = row[_LEASE_AT:]
        return cls(*parts, row[_FRAMES_AT] or (), row[_PLACE_AT], lease if lease and lease[0] is not None else None)


@cache
def candidate(is_postgres: bool, with_version: bool, with_tenant: bool = False) -> sa.Select[Any]:
    """The best runnable ask whose run no one holds, locking that run; with its message and its agent.

    These are read before the lock, but nothing changes them while the ask is runnable.
    """
    columns: list[sa.ColumnElement[Any]] = [*RUN, *ASK, documents.c.body, *AGENT, LAST_EVENT.scalar_subquery()]
    if is_postgres:
        columns += [_FRAMES.scalar_subquery(), _PLACE]
    conditions = [
        asks.c.queue == sa.bindparam("queue"),
        asks.c.status == word(AskStatus.RUNNABLE),
        _CLAIMABLE,
        QUEUE_IS_OPEN,
        TENANT_IS_OPEN,
        TASK_IS_OPEN,
        status_in(runs.c.status, UNFINISHED),
        runs.c.cancel_requested_at.is_(None),
        sa.or_(runs.c.deadline_at.is_(None), runs.c.deadline_at > now()),
        sa.exists().where(workers.c.id == sa.bindparam("worker_id"), workers.c.state == word("alive")),
    ]
    if with_version:
        conditions.append(runs.c.version == sa.bindparam("version"))
    if with_tenant:
        conditions.append(asks.c.tenant == sa.bindparam("tenant"))
    return (
        # Of several tables, so many names are there twice.
        sa.select(*(column.label(f"c{at}") for at, column in enumerate(columns)))
        .select_from(
            asks.join(runs, runs.c.id == asks.c.run_id)
            .outerjoin(documents, sa.and_(documents.c.run_id == asks.c.run_id, documents.c.id == asks.c.message_id))
            .outerjoin(agent_states, sa.and_(agent_states.c.owner == asks.c.run_id, agent_states.c.key == asks.c.agent))
        )
        .where(*conditions)
        .order_by(asks.c.priority.desc(), asks.c.created_at)
        .limit(ONE)
        .with_for_update(of=runs, skip_locked=True)
    )


def _lease(token: sa.ColumnElement[int], *where: sa.ColumnElement[bool]) -> sa.Update:
    """Lease a candidate that was read with this token.

    Its run was locked after that. Another claim may have had it meanwhile, and have released it with a higher token:
    then what was read with it is out of date.
    """
    return (
        change_asks(AskStatus.LEASED, AskStatus.RUNNABLE)
        .where(asks.c.token == token, *where)
        .values(
            attempts=asks.c.attempts + 1,
            token=asks.c.token + 1,
            worker_id=sa.bindparam("worker_id", type_=sa.Text),
            claimed_at=now(),
        )
        .returning(*_LEASE)
    )


_token = sa.bindparam("of_token", type_=sa.Integer)
_BY_KEY = _lease(_token, asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
_BY_PLACE = _lease(_token, sa.cast(sa.bindparam("of_place", type_=sa.Text), _Place()) == _PLACE)


def lease(found: Candidate, ask: AskRecord, worker_id: str) -> tuple[sa.Update, Json]:
    """The statement that leases the candidate, and its parameters."""
    given = {"of_token": ask.token, "worker_id": worker_id}
    if found.place is not None:
        return _BY_PLACE, given | {"of_place": found.place}
    return _BY_KEY, given | {"of_run": ask.run_id, "of_ask": ask.id}


@cache
def lease_best(with_version: bool) -> sa.Select[Any]:
    """PostgreSQL's claim in one statement: the candidate, and its lease.

    It is leased if that is all that has to be written: it waits for no provider, and its run is not waiting.
    """
    best = candidate(True, with_version).cte("best")
    run = dict(zip(names(RUN), list(best.c)[:_ASK_AT], strict=True))
    ask = dict(zip(names(ASK), list(best.c)[_ASK_AT:_BODY_AT], strict=True))
    leased = _lease(
        ask["token"],
        list(best.c)[_PLACE_AT] == _PLACE,
        run["status"] == word(RunStatus.RUNNING),
        ask["bucket"].is_(None),
    ).cte("leased")
    return sa.select(best, leased).select_from(best.outerjoin(leased, sa.true()))
