"""Pauses of a queue, a task or a tenant: made, shown, ended, and what they held let go.

A pause keeps asks from being claimed and new runs from beginning. What is leased is answered; cancellation, deadlines
and answers of humans continue.

A pause ends in two steps, so that a process that dies in between leaves nothing behind. First its row is marked, and
from then on it holds nothing. Then what it held is told in batches, by whoever ended it and by sweeps; the row goes
last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import NotFoundError
from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED, RUN_IS_PAUSED, pauses
from turnwise.record.database import driver
from turnwise.record.database.columns import ONE, now, parts_of, word
from turnwise.record.database.rows import ASK, RUN, ask_of, names, run_of
from turnwise.record.database.schema import asks, runs
from turnwise.record.database.status_statements import status_in, update_runs
from turnwise.record.states import UNFINISHED, AskStatus, RunStatus
from turnwise.record.transaction.part import ChangingPart, RecordPart
from turnwise.record.values.records import AskRecord, RunRecord

PauseKind = Literal["queue", "task", "tenant"]
KINDS: tuple[PauseKind, ...] = ("queue", "task", "tenant")
# Runs and asks that one look at an ended pause lets go.
BATCH = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseRecord:
    """A pause that holds; the field names are the columns."""

    kind: PauseKind
    name: str
    since: float
    paused_by: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LetGo:
    """The runs to wake and the asks to publish permits for, after a pause has ended."""

    runs: Sequence[RunRecord]
    asks: Sequence[AskRecord]


_PAUSE = tuple(column for column in pauses.c if column.name != "resumed_at")
_NAMES = names(_PAUSE)
_OPEN = pauses.c.resumed_at.is_(None)
_ALL = sa.select(*_PAUSE).where(_OPEN).order_by(pauses.c.kind, pauses.c.name)
_ENDED = sa.select(pauses.c.kind, pauses.c.name).where(pauses.c.resumed_at.is_not(None))
_is_named = sa.and_(pauses.c.kind == sa.bindparam("of_kind"), pauses.c.name == sa.bindparam("of_name"))
_END = sa.update(pauses).where(_is_named, _OPEN).values(resumed_at=now()).returning(*_PAUSE)
_FORGET = sa.delete(pauses).where(_is_named, pauses.c.resumed_at.is_not(None))
# Locked against its end: whoever ends it then finds the run that it holds.
_OF_RUN = (
    sa.select(*_PAUSE)
    .where(
        _OPEN,
        sa.or_(
            sa.and_(pauses.c.kind == word("task"), pauses.c.name == sa.bindparam("task", type_=sa.Text)),
            sa.and_(pauses.c.kind == word("tenant"), pauses.c.name == sa.bindparam("tenant", type_=sa.Text)),
        ),
    )
    .limit(ONE)
    .with_for_update(read=True)
)
_RUN_NAME = {"task": runs.c.task, "tenant": runs.c.tenant}
_name = sa.bindparam("of_name", type_=sa.Text)
_held = (
    runs.c.status == word(RunStatus.QUEUED),
    status_in(runs.c.status, UNFINISHED),  # as the partial index has it
    runs.c.move_due_at.is_(None),
    parts_of(runs.c.waiting_for)["kind"].as_string() == "paused",
    sa.not_(RUN_IS_PAUSED),
)
_UNFINISHED_RUN = sa.select(runs.c.id).where(runs.c.task == _name, _held[1]).limit(ONE)
_UNANSWERED = sa.select(asks.c.id).where(asks.c.queue == _name, asks.c.status == word(AskStatus.RUNNABLE)).limit(ONE)


class Pauses(ChangingPart):
    """Pauses are for all processes of the installation, at once."""

    def pause(self, kind: PauseKind, name: str, reason: str | None = None, paused_by: str = "") -> PauseRecord:
        """Pause a queue, a task or a tenant; one that is paused keeps its `since`, and has the new reason."""
        new = {"paused_by": paused_by, "reason": reason, "resumed_at": None}
        statement = self._database.insert(pauses).values(kind=kind, name=name, since=now(), **new)
        since = sa.case((pauses.c.resumed_at.is_(None), pauses.c.since), else_=statement.excluded.since)
        statement = statement.on_conflict_do_update(index_elements=["kind", "name"], set_={**new, "since": since})
        with self._database.begin() as connection:
            row = connection.execute(statement.returning(*_PAUSE)).one()
            self._audited(connection, f"{kind}/{name}")
        return _pause(row)

    def resume(self, kind: PauseKind, name: str) -> PauseRecord:
        """End a pause, and return it as it was; `let_go` says what continues. `NotFoundError` if there is none."""
        with self._database.begin() as connection:
            row = connection.execute(_END, {"of_kind": kind, "of_name": name}).first()
            if row is None:
                raise NotFoundError(f"the {kind} {name!r} is not paused; `turnwise pauses` lists what is")
            self._audited(connection, f"{kind}/{name}")
        return _pause(row)

    def has_unfinished(self, task: str) -> bool:
        """Return whether a run of the task has not ended."""
        with self._database.read() as connection:
            return connection.execute(_UNFINISHED_RUN, {"of_name": task}).first() is not None

    def has_asks(self, queue: str) -> bool:
        """Return whether the queue holds an ask that no one has answered."""
        with self._database.read() as connection:
            return connection.execute(_UNANSWERED, {"of_name": queue}).first() is not None


class PauseList(RecordPart):
    """Pauses of queues and tasks, which are everybody's, and of the tenants within reach."""

    def pauses(self) -> list[PauseRecord]:
        """Return the pauses, by kind and name."""
        with self._database.read() as connection:
            found = read_pauses(connection)
        return [one for one in found if one.kind != "tenant" or self._reach.includes(one.name)]


class EndedPauses(RecordPart):
    """Lets continue what ended pauses held."""

    def let_go(self, limit: int = BATCH) -> LetGo | None:
        """Return what ended pauses held, at most `limit` of each; None if there is no ended pause left.

        Runs are due from then on, and a sweep publishes the permits that are left, so what is returned may get lost.
        """
        with self._database.read() as connection:
            ended = connection.execute(_ENDED).all()
        if not ended:
            return None
        found = [self._let_go(kind, name, limit) for kind, name in ended]
        return LetGo(
            runs=[run for one in found for run in one.runs],
            asks=sorted((ask for one in found for ask in one.asks), key=lambda ask: (-ask.priority, ask.created_at)),
        )

    def _let_go(self, kind: PauseKind, name: str, limit: int) -> LetGo:
        given = {"of_kind": kind, "of_name": name, "most": limit}
        with self._database.begin() as connection:
            begun: list[RunRecord] = []
            if kind in _RUN_NAME:
                begun = [run_of(row) for row in connection.execute(_release(kind), given)]
                if begun or connection.execute(_is_left(kind), given).first() is not None:
                    return LetGo(runs=begun, asks=())
            permits = [ask_of(row) for row in connection.execute(_permits(kind), given)]
            connection.execute(_FORGET, given)
        return LetGo(runs=(), asks=permits)


def read_pauses(connection: Connection) -> list[PauseRecord]:
    """Return all pauses."""
    return [_pause(row) for row in driver.fetch(connection, _ALL, {})]


def pause_of_new(connection: Connection, run: RunRecord) -> PauseRecord | None:
    """Return the pause that keeps a run from beginning; it cannot end before the transaction has."""
    rows = driver.fetch(connection, _OF_RUN, {"task": run.task, "tenant": run.tenant})
    return _pause(rows[0]) if rows else None


def pause_for(found: Iterable[PauseRecord], run: RunRecord, queue: str | None) -> PauseRecord | None:
    """Return the first of the pauses that holds the run, or its ask in `queue`."""
    holds = {"task": run.task, "tenant": run.tenant, "queue": queue}
    return next((one for one in found if holds[one.kind] == one.name), None)


def _release(kind: str) -> Any:
    free = sa.select(runs.c.id).where(*_held, _RUN_NAME[kind] == _name)
    free = free.limit(sa.bindparam("most", type_=sa.Integer)).with_for_update(skip_locked=True)
    # They keep `waiting_for` until they begin, so that their timeline tells of the pause.
    return update_runs().where(runs.c.id.in_(free)).values(move_due_at=now()).returning(*RUN)


def _is_left(kind: str) -> sa.Select[Any]:
    return sa.select(runs.c.id).where(*_held, _RUN_NAME[kind] == _name).limit(ONE)


def _permits(kind: str) -> Any:
    """Asks that may be claimed again; they count as topped up, so that a sweep does not publish them as well."""
    of_pause = {
        "queue": asks.c.queue == _name,
        "tenant": asks.c.tenant == _name,
        "task": sa.exists().where(runs.c.id == asks.c.run_id, runs.c.task == _name),
    }
    free = (
        sa.select(asks.c.run_id, asks.c.id)
        .where(
            asks.c.status == word(AskStatus.RUNNABLE),
            sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
            of_pause[kind],
            sa.not_(sa.func.coalesce(ASK_IS_ONE_OF_THE_PAUSED, sa.false())),
        )
        .order_by(asks.c.priority.desc(), asks.c.created_at)
        .limit(sa.bindparam("most", type_=sa.Integer))
        .with_for_update(of=asks, skip_locked=True)
    )
    return (
        sa.update(asks)
        .where(sa.tuple_(asks.c.run_id, asks.c.id).in_(free))
        .values(topups=0, topup_after=now() + 5.0)
        .returning(*ASK)
    )


def _pause(row: Sequence[Any]) -> PauseRecord:
    return PauseRecord(**dict(zip(_NAMES, row, strict=True)))
