"""Sessions as a whole: what they remember, and their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.columns import ONE, money_total
from turnwise.record.database.rows import AGENT, agent_of
from turnwise.record.database.schema import agent_states, documents, histories, runs, sessions
from turnwise.record.states import UNFINISHED
from turnwise.record.transaction.conversations import conversation_id
from turnwise.record.transaction.part import TenantPart
from turnwise.record.transaction.writes import aside
from turnwise.record.upkeep.purged_usage import COUNTED, OF_SESSION, forget_session
from turnwise.record.values.records import AgentRecord, Json, Usage
from turnwise.record.values.session_record import SessionRecord, SessionTask

_TOGETHER = 500
_BY_ID = sa.select(sessions.c.key, sessions.c.created_at, sessions.c.used_at).where(
    sessions.c.tenant == sa.bindparam("tenant"), sessions.c.id == sa.bindparam("session_id")
)
# A session that was deleted and begun again has the same id, and none of the runs from before.
_OF_IT = (runs.c.session_id == sa.bindparam("session_id"), runs.c.session_key == sa.bindparam("session_key"))
_UNFINISHED = sa.func.sum(sa.case((runs.c.status.in_(UNFINISHED), 1), else_=0))
_SUMS = tuple(money_total(runs.c.cost) if name == "cost" else sa.func.sum(runs.c[name]) for name in COUNTED)
# In one statement, so that a run which is being deleted counts once. No deleted run is unfinished.
_TASKS = (
    sa.select(runs.c.task, sa.func.count(), *_SUMS, _UNFINISHED)
    .where(*_OF_IT)
    .group_by(runs.c.task)
    .union_all(OF_SESSION.add_columns(sa.literal_column("0")))
)
_AGENTS = sa.select(*AGENT).where(agent_states.c.owner == sa.bindparam("conversation")).order_by(AGENT[0])
_ONE_UNFINISHED = (
    sa.select(runs.c.id).where(*_OF_IT, runs.c.status.in_(UNFINISHED)).order_by(runs.c.session_no).limit(ONE)
)


class Sessions(TenantPart):
    """Looks at a tenant's sessions and ends them; runs begin them (`submit`)."""

    def session(self, session_id: str) -> SessionRecord:
        """A session, with what its agents remember of the runs that completed; `NotFoundError` if there is none."""
        with self._database.read() as connection:
            key, created_at, used_at = self._found(connection, _BY_ID, session_id)
            given = {"session_id": session_id, "session_key": key}
            rows = connection.execute(_TASKS, given).all()
            counted: Counter[str] = Counter()
            for row in rows:
                counted[row[0]] += int(row[1])
            tasks = tuple(
                SessionTask(task=task, runs=number, agents=self._agents(connection, conversation_id(key, task)))
                for task, number in sorted(counted.items())
            )
        sums = {name: sum((row[at] for row in rows), Decimal(0)) for at, name in enumerate(COUNTED, 2)}
        used = Usage(
            prompt_tokens=int(sums["prompt_tokens"]),
            cached_tokens=int(sums["cached_tokens"]),
            completion_tokens=int(sums["completion_tokens"]),
            calls=int(sums["calls"]),
            cost=sums["cost"],
        )
        return SessionRecord(
            id=session_id,
            created_at=created_at,
            used_at=used_at,
            runs=counted.total(),
            unfinished=int(sum(row[-1] for row in rows)),
            usage=used,
            unpriced_calls=int(sums["unpriced_calls"]),
            tasks=tasks,
        )

    def delete_session(self, session_id: str) -> None:
        """Forget what the session's agents remember; its runs stay on record. A later run of that id begins anew.

        Raises `NotFoundError`, and `ConflictError` (`session_in_use`) while a run of it has not ended.
        """
        with self._database.begin() as connection:
            key, _, _ = self._found(connection, _BY_ID.with_for_update(), session_id)
            given = {"session_id": session_id, "session_key": key}
            running = connection.execute(_ONE_UNFINISHED, given).scalar_one_or_none()
            if running is not None:
                raise ConflictError(
                    f"the run {running} of the session {session_id!r} has not ended; cancel it or wait for its end",
                    code="session_in_use",
                )
            conversations = self._conversations(connection, key, given)
            # What runs that did not complete had made of the conversation; they keep it in case they continue.
            unused = sa.select(runs.c.id).where(*_OF_IT, runs.c.conversation_id.is_not(None))
            self._delete_cut_off(connection, conversations)
            for table in (histories, agent_states):
                connection.execute(sa.delete(table).where(table.c.owner.in_(conversations)))
                connection.execute(sa.delete(table).where(table.c.owner.in_(unused)), given)
            connection.execute(sa.delete(documents).where(documents.c.run_id.in_(conversations)))
            forget_session(connection, key)
            connection.execute(
                sa.delete(sessions).where(sessions.c.tenant == self._tenant, sessions.c.id == session_id)
            )
            self._audited(connection, session_id)

    def _conversations(self, connection: Connection, key: str, given: Json) -> list[str]:
        """Return what the session's conversations are kept under, also those of tasks whose runs were all deleted."""
        found = {row[0] for row in connection.execute(_TASKS, given)}
        return [conversation_id(key, task) for task in sorted(found)]

    def _delete_cut_off(self, connection: Connection, conversations: Sequence[str]) -> None:
        """Delete what was cut off the histories of the conversations, a few epochs at a time."""
        newest = sa.select(sa.func.max(agent_states.c.history_epoch))
        for name in conversations:
            last = connection.execute(newest.where(agent_states.c.owner == name)).scalar_one_or_none() or 0
            for first in range(1, last + 1, _TOGETHER):
                owners = [aside(name, epoch) for epoch in range(first, min(first + _TOGETHER, last + 1))]
                connection.execute(sa.delete(histories).where(histories.c.owner.in_(owners)))

    def _found(self, connection: Connection, statement: sa.Select[Any], session_id: str) -> tuple[str, float, float]:
        row = connection.execute(statement, {"tenant": self._tenant, "session_id": session_id}).first()
        if row is None:
            raise NotFoundError(f"there is no session {session_id!r}; a run submitted with that session_id begins it")
        return row[0], row[1], row[2]

    def _agents(self, connection: Connection, conversation: str) -> tuple[AgentRecord, ...]:
        return tuple(agent_of(row) for row in connection.execute(_AGENTS, {"conversation": conversation}))
