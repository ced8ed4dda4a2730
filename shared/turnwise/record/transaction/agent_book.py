"""Agents and their histories within one transaction of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields

import sqlalchemy as sa

from turnwise.record.database.rows import AGENT, agent_of, as_row
from turnwise.record.database.schema import agent_states, histories
from turnwise.record.transaction.run_changes import Changes
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.writes import Writes, aside
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import AgentRecord, HistoryRow, Json, NewHistory, RunRecord

_AGENT = sa.select(*AGENT).where(
    agent_states.c.owner == sa.bindparam("owner"), agent_states.c.key == sa.bindparam("key")
)
_AGENTS = sa.select(*AGENT).where(agent_states.c.owner == sa.bindparam("owner"))
_ROW = sa.select(
    histories.c.idx,
    histories.c.role,
    histories.c.body,
    histories.c.tokens,
    histories.c.total,
    histories.c.document_id,
).where(
    histories.c.owner == sa.bindparam("owner"),
    histories.c.key == sa.bindparam("key"),
    histories.c.idx == sa.bindparam("idx"),
)
_FIRST = sa.select(sa.func.min(histories.c.idx)).where(
    histories.c.owner == sa.bindparam("owner"),
    histories.c.key == sa.bindparam("key"),
    histories.c.idx < sa.bindparam("end"),
    histories.c.document_id.in_(sa.bindparam("documents", expanding=True)),
)
_TOTAL = sa.select(histories.c.total).where(
    histories.c.owner == sa.bindparam("owner"),
    histories.c.key == sa.bindparam("key"),
    histories.c.idx == sa.bindparam("idx"),
)


class AgentBook:
    """Reads each agent once and leaves its changes in the transaction's writes.

    All of them are rows of the run's own; those of the session's conversation, which a history may begin with, are
    only read.
    """

    def __init__(self, lock: RunLock, run: RunRecord, known: KnownRun, writes: Writes, changes: Changes) -> None:
        self._lock = lock
        self._changes = changes
        self._run = run
        self._writes = writes
        self._known = known.agents
        self._has_all = known.has_all_agents
        self._stored = known.stored  # of history rows, those that are still wanted

    def begin(self) -> None:
        """Read the agents that were just taken over from the session."""
        for row in self._lock.connection.execute(_AGENTS, {"owner": self._run.id}):
            agent = agent_of(row)
            self.learn(agent)
            self._changes.begun(agent)

    def learn(self, agent: AgentRecord) -> None:
        """Take `agent`, just read under the run's lock, as known."""
        if agent.key not in self._known:
            self._known[agent.key] = agent
            self._stored[agent.key] = agent.history_len

    def get(self, key: str) -> AgentRecord:
        """The agent as this transaction sees it; an empty record if nothing was ever saved of it."""
        if key not in self._known:
            self.learn(self._read(key) or AgentRecord(key=key))
        return self._known[key]

    def _read(self, key: str) -> AgentRecord | None:
        if self._has_all:
            return None
        row = self._lock.connection.execute(_AGENT, {"owner": self._run.id, "key": key}).first()
        return agent_of(row) if row else None

    def save(self, key: str, record: Json | None, state: Json | None) -> None:
        """Replace record or state; None leaves what was."""
        known = self.get(key)
        self._put(
            known.changed(
                record=known.record if record is None else record,
                state=known.state if state is None else state,
            )
        )

    def append(self, key: str, rows: Sequence[NewHistory]) -> None:
        """Add rows after the last one, keeping the running total of tokens."""
        agent = self.get(key)
        idx, total = agent.history_len, agent.history_tokens
        pending = self._writes.histories.setdefault(key, [])
        for row in rows:
            total += row.tokens
            pending.append(as_row(row, owner=self._run.id, key=key, idx=idx, total=total))
            idx += 1
        self._put(agent.changed(history_len=idx, history_tokens=total))

    def cut(self, key: str, keep: int) -> None:
        """Take away the rows from index `keep` on; a new epoch begins if there were any."""
        agent = self.get(key)
        if keep >= agent.history_len:
            return
        epoch = agent.history_epoch + 1
        pending = self._writes.histories.get(key, [])
        # What was there at a mark stays, aside; what came and went since was never there.
        marked = self._changes.marked_length(agent)
        kept = self._changes.kept(key)
        marked = marked if kept is None else min(marked, kept)
        for row in pending:
            if keep <= row["idx"] < marked:
                self._writes.set_aside.append(row | {"owner": aside(self._run.id, epoch)})
        pending[:] = [row for row in pending if row["idx"] < keep]
        if keep < self._stored[key]:
            self._writes.cuts.append((key, keep, epoch))
            self._stored[key] = keep
        total = self._total(key, keep, pending)
        self._put(
            agent.changed(
                history_len=keep,
                history_tokens=total,
                history_epoch=epoch,
                base_len=min(agent.base_len, keep),
            )
        )

    def restore(self, agent: AgentRecord, rows: Sequence[Json], kept: int) -> None:
        """Have record and state of `agent`, and its history from index `kept` on."""
        self.cut(agent.key, kept)
        names = [field.name for field in fields(NewHistory)]
        self.append(agent.key, [NewHistory(**{name: row[name] for name in names}) for row in rows])
        self._put(self.get(agent.key).changed(record=agent.record, state=agent.state))

    def row(self, key: str, idx: int) -> HistoryRow:
        """One history row, stored or just appended."""
        for row in self._writes.histories.get(key, []):
            if row["idx"] == idx:
                return HistoryRow(**{field.name: row[field.name] for field in fields(HistoryRow)})
        found = self._lock.connection.execute(_ROW, self._place(key, idx)).one()
        return HistoryRow(
            idx=found[0], role=found[1], body=found[2], tokens=found[3], total=found[4], document_id=found[5]
        )

    def first_of(self, key: str, documents: Collection[str]) -> int | None:
        """Return where the first of those documents stands in the agent's history; None if it has none of them."""
        agent = self.get(key)
        # Rows below `base_len` are the conversation's; of the others, the database may have some that were cut.
        parts = [(self._run.conversation_id, agent.base_len), (self._run.id, self._stored[key])]
        for owner, end in parts if documents else ():
            given = {"owner": owner, "key": key, "end": end, "documents": list(documents)}
            found = self._lock.connection.execute(_FIRST, given).scalar()
            if found is not None:
                return int(found)
        pending = self._writes.histories.get(key, [])
        return next((int(row["idx"]) for row in pending if row["document_id"] in documents), None)

    def _total(self, key: str, keep: int, pending: list[Json]) -> int:
        if keep <= 0:
            return 0
        if pending:
            return int(pending[-1]["total"])
        return int(self._lock.connection.execute(_TOTAL, self._place(key, keep - 1)).scalar_one())

    def _place(self, key: str, idx: int) -> Json:
        """Return where a stored history row is."""
        of_base = idx < self.get(key).base_len
        return {"owner": self._run.conversation_id if of_base else self._run.id, "key": key, "idx": idx}

    def _put(self, agent: AgentRecord) -> None:
        self._changes.agent(self._known[agent.key], agent)
        self._known[agent.key] = agent
        self._writes.agents[agent.key] = as_row(agent, owner=self._run.id)
