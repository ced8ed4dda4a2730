"""The runs of a session: one after another, in the order in which they were accepted.

A run that is not the first of those that have not ended stays queued. Whoever ends a run wakes the next one; the
session's row is locked by both, by who ends a run and by who accepts one, so that neither misses the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.record.asks.pause_conditions import RUN_IS_PAUSED
from turnwise.record.database import driver
from turnwise.record.database.columns import ONE, now, word
from turnwise.record.database.database import Database
from turnwise.record.database.schema import documents, runs, sessions
from turnwise.record.states import UNFINISHED, RunStatus
from turnwise.record.values.records import Json, NewRun, RunRecord


class RunInLine(NamedTuple):
    """A run of a session that has not ended, and the version of the application that it was accepted for."""

    id: str
    version: str


_earlier = runs.alias("earlier")
_words = [word(status) for status in UNFINISHED]
_IN_LINE = (
    sa.select(runs.c.id, runs.c.version)
    .where(
        runs.c.session_key == sa.bindparam("session_key"), runs.c.session_key.is_not(None), runs.c.status.in_(_words)
    )
    .limit(ONE)
)
_BEFORE = _IN_LINE.where(runs.c.session_no < sa.bindparam("session_no")).order_by(runs.c.session_no.desc())
_AFTER = _IN_LINE.where(runs.c.session_no > sa.bindparam("session_no")).order_by(runs.c.session_no)
_LOCK_SESSION = (
    sa.select(sessions.c.key)
    .where(sessions.c.tenant == sa.bindparam("of_tenant"), sessions.c.id == sa.bindparam("of_session"))
    .with_for_update()
)
_BEGUN_AFTER = (
    sa.select(runs.c.id)
    .where(
        runs.c.session_id == sa.bindparam("session_id"),
        runs.c.session_key == sa.bindparam("session_key"),
        runs.c.session_no > sa.bindparam("session_no"),
        runs.c.started_at.is_not(None),
    )
    .order_by(runs.c.session_no)
    .limit(ONE)
)
_TOUCH = (
    sa.update(sessions)
    .where(sessions.c.tenant == sa.bindparam("of_tenant"), sessions.c.id == sa.bindparam("of_session"))
    .values(used_at=now())
)
# Runs that wait for an earlier one which has ended meanwhile: whoever ended it could not wake them.
LEFT_WAITING = (
    sa.select(runs.c.id)
    .where(
        runs.c.session_key.is_not(None),
        runs.c.status.in_(_words),
        runs.c.status == word(RunStatus.QUEUED),
        runs.c.move_due_at.is_(None),
        sa.not_(RUN_IS_PAUSED),
        ~sa.exists().where(
            _earlier.c.session_key == runs.c.session_key,
            _earlier.c.session_key.is_not(None),
            _earlier.c.session_no < runs.c.session_no,
            _earlier.c.status.in_(_words),
        ),
    )
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_EARLIER_DOCUMENTS = (
    sa.select(documents.c.id, documents.c.body)
    .select_from(documents.join(runs, runs.c.id == documents.c.run_id))
    .where(
        runs.c.session_id == sa.bindparam("session_id"),
        runs.c.conversation_id == sa.bindparam("conversation_id"),
        runs.c.status == word(RunStatus.COMPLETED),
        documents.c.id.in_(sa.bindparam("ids", expanding=True)),
    )
    # The same document may be kept by two runs: what the later one made of it counts.
    .order_by(runs.c.session_no)
)
# What runs that were deleted have left.
_LEFT_DOCUMENTS = sa.select(documents.c.id, documents.c.body).where(
    documents.c.run_id == sa.bindparam("conversation_id"), documents.c.id.in_(sa.bindparam("ids", expanding=True))
)


def take_place(database: Database, connection: Connection, tenant: str, new: NewRun) -> Json:
    """The columns that make `new` the last one of its session's line; the session begins if there is none.

    Locks the session's row.
    """
    if new.session_id is None:
        return {}
    statement = database.insert(sessions).values(
        tenant=tenant, id=new.session_id, key=new_id("ses"), last_no=1, created_at=now(), used_at=now()
    )
    statement = statement.on_conflict_do_update(
        index_elements=[sessions.c.tenant, sessions.c.id],
        set_={"last_no": sessions.c.last_no + 1, "used_at": statement.excluded.used_at},
    )
    key, no = connection.execute(statement.returning(sessions.c.key, sessions.c.last_no)).one()
    return {"session_key": key, "session_no": no}


def take_places(database: Database, connection: Connection, tenant: str, new: Sequence[NewRun]) -> list[Json]:
    """`take_place` for each of many runs, which are accepted in this order.

    Sessions are locked in the order of their names, so that two who do this cannot wait for each other.
    """
    order = sorted(range(len(new)), key=lambda no: (new[no].session_id or "", no))
    places = {no: take_place(database, connection, tenant, new[no]) for no in order}
    return [places[no] for no in range(len(new))]


def run_before(connection: Connection, run: RunRecord) -> str | None:
    """The run that has to end before `run` may begin; None if it is its turn.

    Locks the session's row, so that none before it can be taken up again meanwhile.
    """
    if run.session_key is None:
        return None
    lock_session(connection, run)
    before = _neighbour(connection, run, _BEFORE)
    return None if before is None else before.id


def lock_session(connection: Connection, run: RunRecord) -> bool:
    """Lock the row of the run's session until the end of the transaction; after that of the run.

    Return whether it is there: a session that was deleted may have been begun anew under its id.
    """
    given = {"of_tenant": run.tenant, "of_session": run.session_id}
    return [row[0] for row in driver.fetch(connection, _LOCK_SESSION, given)] == [run.session_key]


def begun_after(connection: Connection, run: RunRecord) -> str | None:
    """A run of the session that was accepted after `run`, and has begun; None if there is none."""
    given = {"session_id": run.session_id, "session_key": run.session_key, "session_no": run.session_no}
    return connection.execute(_BEGUN_AFTER, given).scalar_one_or_none()


def run_after(connection: Connection, run: RunRecord) -> RunInLine | None:
    """The run that waits for the end of `run`; locks the session's row, so that none can slip in behind this look."""
    if run.session_key is None:
        return None
    connection.execute(_TOUCH, {"of_tenant": run.tenant, "of_session": run.session_id})
    return _neighbour(connection, run, _AFTER)


def earlier_documents(connection: Connection, run: RunRecord, ids: Iterable[str]) -> dict[str, Json]:
    """Those documents, by id, that earlier runs have left to the conversation."""
    if run.conversation_id is None:
        return {}
    given = {"session_id": run.session_id, "conversation_id": run.conversation_id, "ids": list(ids)}
    # In this order: a run that is deleted meanwhile leaves its documents to where we look last.
    of_runs = {row[0]: row[1] for row in connection.execute(_EARLIER_DOCUMENTS, given)}
    left = {row[0]: row[1] for row in connection.execute(_LEFT_DOCUMENTS, given)}
    # Deleted runs are older than those that are left.
    return left | of_runs


def _neighbour(connection: Connection, run: RunRecord, statement: sa.Select[str, str]) -> RunInLine | None:
    given = {"session_key": run.session_key, "session_no": run.session_no}
    found = connection.execute(statement, given).one_or_none()
    return None if found is None else RunInLine(*found)
