"""One transaction over one run.

Writes are buffered and reach the database together at the end. On a run that is locked first, a typical move costs a
handful of round trips: the lock, the frames, the awaited ask with all that belongs to it, one burst of writes, the
commit. On what is known of a run from the transaction before it costs one: the writes, which have the condition that
the run is still that one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Unpack

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection

from turnwise.observability.redaction import redacted
from turnwise.record.asks.new_asks import ask_record
from turnwise.record.budgets.usage_tally import counted_at_rest, with_usage
from turnwise.record.database import driver
from turnwise.record.database.database import Database
from turnwise.record.database.faults import is_intact
from turnwise.record.database.rows import ASK, REPLY, agent_of, as_row, ask_of, in_row, reply_of
from turnwise.record.events.event import OF_RUN, EventData, EventPlace, event_row
from turnwise.record.states import AskStatus, RunStatus, passed
from turnwise.record.transaction.agent_book import AgentBook
from turnwise.record.transaction.conversations import conversation_id, settle, take_up
from turnwise.record.transaction.document_book import DocumentBook
from turnwise.record.transaction.frame_stack import FrameStack
from turnwise.record.transaction.journal import TOLD, News
from turnwise.record.transaction.loop_tally import LoopTally
from turnwise.record.transaction.new_runs import accepted_row
from turnwise.record.transaction.run_changes import Changes
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.session_queue import RunInLine, run_after, run_before
from turnwise.record.transaction.statements import ASK_AND_REPLY, FORGET_BEGUN
from turnwise.record.transaction.writes import Writes
from turnwise.record.values.kept_errors import KeptError, RunError
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.outcomes import Receipt
from turnwise.record.values.records import (
    AgentRecord,
    AskRecord,
    FrameRecord,
    HistoryRow,
    Json,
    NewAsk,
    NewHistory,
    ReplyRecord,
    RunChanges,
    RunRecord,
    Usage,
)

# What in an event's data comes from errors.
_TELLS = frozenset(("error", "waiting_for"))


class RunTransaction:
    """A run: what it holds, and the changes that are committed together or not at all.

    Whatever is not known yet is read under the run's lock, so the first such look takes it.
    """

    def __init__(self, database: Database, lock: RunLock, known: KnownRun, now: float) -> None:
        self.known = known
        self._run = known.run
        # The columns that may have another value than in `known`, and of these the values that `_run` lacks: a record
        # is copied when someone looks at it, not at each change.
        self._changed: set[str] = set()
        self._pending: Json = {}
        self.now = now
        self._lock = lock
        self._database = database
        self._writes = Writes(database, known.run)
        self._changes = Changes(known.run.last_seq)
        self._agents = AgentBook(lock, known.run, known, self._writes, self._changes)
        self._frames = FrameStack(lock, known, self._writes, self._changes)
        self._tally = LoopTally(lock, known, self._writes)
        self._documents = DocumentBook(lock, known, self._writes, self._changes)
        self._asked: list[AskRecord] = []
        # For the log, once it is committed.
        self.news: list[News] = []

    @property
    def run(self) -> RunRecord:
        """The run, with the changes of this transaction."""
        if self._pending:
            self._run = self._run.changed(**self._pending)
            self._pending = {}
        return self._run

    @property
    def connection(self) -> Connection:
        """The connection of the transaction, which holds the run's lock from now on at the latest.

        Raises `RunChangedError` if this builds on what was known of the run, and the run is another by now.
        """
        return self._lock.connection

    @property
    def is_locked(self) -> bool:
        """Return whether the run's row is locked already; if not, the write has conditions instead."""
        return self._lock.is_held

    @property
    def is_intact(self) -> bool:
        """Return whether statements can still be executed, so that a database error came from elsewhere."""
        return not self._lock.is_held or is_intact(self._lock.connection)

    # The run

    def change(self, **changes: Unpack[RunChanges]) -> None:
        """Change columns of the run; `run` shows them at once.

        Raises `IllegalTransitionError` for a status that the run cannot go to.
        """
        if "status" in changes:
            passed(self.run.status, changes["status"])
        self.amend(**changes)

    def amend(self, **values: Any) -> None:
        """Change any columns of the run, without a look at its status; `run` shows them at once."""
        self._changed.update(values)
        self._pending.update(values)

    def add_usage(self, usage: Usage) -> None:
        """Add what model calls used to the run's sums, and to its tenant's of the day."""
        run = self.run
        self.amend(
            prompt_tokens=run.prompt_tokens + usage.prompt_tokens,
            cached_tokens=run.cached_tokens + usage.cached_tokens,
            completion_tokens=run.completion_tokens + usage.completion_tokens,
            calls=run.calls + usage.calls,
            unpriced_calls=run.unpriced_calls + (usage.calls if usage.cost is None else 0),
            cost=run.cost + (usage.cost or 0),
            uncounted=with_usage(run.uncounted, usage, self.now),
        )

    def reserve(self, cost: Decimal, tokens: int) -> None:
        """Reserve room in the run's own budget, or release it (negative)."""
        run = self.run
        self.amend(reserved_cost=run.reserved_cost + cost, reserved_tokens=run.reserved_tokens + tokens)

    def insert(self, table: sa.Table) -> postgresql.Insert:
        """An INSERT that can say what a conflict means."""
        return self._database.insert(table)

    def finish(
        self, status: RunStatus, status_code: str | None, result: Json | None = None, error: RunError | None = None
    ) -> None:
        """End the run: open asks are cancelled, nothing is awaited or due afterwards. The event is the caller's.

        What a `completed` run has changed of its session's conversation is kept; of any other nothing is.
        """
        passed(self.run.status, status)
        self._writes.close_open_asks = True
        self._writes.asks = [self._cancelled(ask) for ask in self._writes.asks]
        self.amend(
            status=status,
            status_code=status_code,
            result=result,
            error=KeptError(found=redacted(error.as_json())) if error is not None else None,
            awaiting=None,
            waiting_for=None,
            move_due_at=None,
            finished_at=self.now,
        )

    def event(self, told: EventData, place: EventPlace = OF_RUN) -> int:
        """Write the run's next event and return its number."""
        data = told.as_json()
        if not _TELLS.isdisjoint(data):
            data = redacted(data)
        if told.type in TOLD:
            self.news.append(News(told.type, place, data))
        seq = self._counter("last_seq") + 1
        self.amend(last_seq=seq)
        self._writes.events.append(event_row(self.known.run.id, seq, told.type, self.now, data, place))
        return seq

    def write_accepted(self) -> None:
        """Write the first event of a run whose row this transaction's caller has just written."""
        self._writes.events.append(accepted_row(self.known.run))

    def mark(self) -> None:
        """Let the last event tell what has changed since the mark before; nothing if there is no event since.

        To be called where the run is in a state that it could continue from: after a move, after a reply.
        """
        found = self._changes.mark(self.run, self.now)
        if found is not None:
            self._writes.events[-1]["changes"] = found

    # The session

    def run_before(self) -> str | None:
        """The run of the session that has to end before this one may begin; None if it is this one's turn."""
        return run_before(self.connection, self.run)

    def run_after(self) -> RunInLine | None:
        """The run of the session that waits for this one's end."""
        return run_after(self.connection, self.run)

    def take_up_conversation(self) -> None:
        """Continue with the agents and histories of the session, if the run has one; before anything is read of
        them.
        """
        run = self.run
        if run.session_key is not None:
            self.amend(conversation_id=conversation_id(run.session_key, run.task))
            take_up(self.connection, self.run)
            self._agents = AgentBook(self._lock, self.run, self.known, self._writes, self._changes)
            self._agents.begin()

    # Frames and loop counts

    def frames(self) -> list[FrameRecord]:
        """The stack of tasks, outermost first, with the changes of this transaction."""
        return self._frames.all()

    def push_frame(self, path: str, state: Json, no: int | None = None) -> int:
        """Put a task on the stack; its number is new in this run (`no` also names one that is put back)."""
        no = self.run.last_frame + 1 if no is None else no
        self.amend(last_frame=max(no, self.run.last_frame))
        self._frames.push(no, path, state)
        return no

    def save_frame(self, no: int, state: Json) -> None:
        """Replace the state of a frame."""
        self._frames.save(no, state)

    def pop_frame(self, no: int) -> None:
        """Take a frame off the stack, its loop counts with it."""
        self._frames.pop(no)

    def count(self, frame_no: int, key: str, n: int) -> list[tuple[str, int]]:
        """Count `key` once more in a frame; the `n` highest counts of the frame, this one included."""
        self._changes.counted(frame_no, key)
        return self._tally.count(frame_no, key, n)

    def restore_counts(self, frame_no: int, counts: Mapping[str, int]) -> None:
        """Give a frame that is put back the counts that it had."""
        self._tally.restore(frame_no, counts)

    # Documents

    def documents(self, ids: Iterable[str]) -> dict[str, Json]:
        """The bodies of those documents that exist, by id; also those that earlier runs left to the conversation."""
        return self._documents.find(self.run, ids)

    def put_document(self, id: str, body: Json, parent_id: str | None = None) -> None:
        """Keep a document; one of the same id is replaced and keeps its place in the order."""
        no = self._counter("last_document") + 1
        self.amend(last_document=no)
        self._documents.put(id, no, body, parent_id, self.now)

    def documents_written(self) -> list[str]:
        """The ids of the documents that this transaction has put so far."""
        return list(self._writes.documents)

    # Asks and replies

    def ask(self, ask_id: str) -> AskRecord | None:
        """An ask of this run as it stands in the database."""
        found = self._look_at(ask_id)
        return found[0] if found else None

    def open_ask(self) -> AskRecord | None:
        """The ask that the run waits for."""
        return self.ask(self.run.awaiting) if self.run.awaiting else None

    def reply(self) -> ReplyRecord | None:
        """The accepted reply to the ask that the run waits for, also if this transaction wrote it."""
        found = self._look_at(self.run.awaiting) if self.run.awaiting else None
        return found[1] if found else None

    def add_ask(self, ask: NewAsk, holder: str | None = None) -> AskRecord:
        """Ask a responder (runnable) or a human (open); the caller sets the run's `awaiting`.

        With `holder`, the id of a worker, the ask is written as claimed by it.
        """
        made = ask_record(ask, self.run, holder, self.now)
        self._writes.asks.append(as_row(made))
        self._asked.append(made)
        return made

    def close_ask(self, ask_id: str, status: AskStatus) -> None:
        """Give an ask its final status, answered or cancelled; raises `IllegalTransitionError` otherwise."""
        known = self.ask(ask_id)
        if known is not None:
            passed(self._writes.closed_asks.get(ask_id, known.status), status)
        self._writes.closed_asks[ask_id] = status

    def add_reply(self, reply: ReplyRecord) -> None:
        """Keep a reply; an accepted one closes its ask."""
        self._writes.replies.append(as_row(reply))
        if reply.accepted:
            ask = self.ask(reply.ask_id)
            if ask is not None:
                self.known.asks[ask.id] = (ask, reply)
            self.close_ask(reply.ask_id, AskStatus.ANSWERED)

    def put_receipt(self, ask_id: str, receipt: Receipt, token: int, worker_id: str | None) -> None:
        """Keep the receipt of a handler's call, over an earlier one of the same call."""
        begun_at = receipt.begun_at if receipt.begun_at is not None else self.now
        more = {"token": token, "at": self.now, "begun_at": begun_at, "worker_id": worker_id}
        self._writes.receipts.append(as_row(receipt, run_id=self.run.id, ask_id=ask_id) | more)

    def forget_begun(self, ask_id: str) -> None:
        """Forget which calls of the ask had begun: whoever had it knows that none is under way."""
        self.connection.execute(FORGET_BEGUN, {"of_run": self.run.id, "of_ask": ask_id})

    def doubt_ask(self, ask_id: str) -> None:
        """Leave the call of the ask's handler in doubt: should the run be retried, a person has to decide."""
        self._writes.doubted_asks.append(ask_id)

    # Agents

    def agent(self, key: str) -> AgentRecord:
        """Return what is kept of an agent; an empty record for one that was never saved."""
        return self._agents.get(key)

    def save_agent(self, key: str, *, record: Json | None = None, state: Json | None = None) -> None:
        """Replace an agent's record or state; None leaves it."""
        self._agents.save(key, record, state)

    def append_history(self, key: str, rows: Sequence[NewHistory]) -> None:
        """Add messages to an agent's history."""
        self._agents.append(key, rows)

    def first_of_documents(self, key: str, documents: Collection[str]) -> int | None:
        """Return where the first of those documents stands in an agent's history; None if it has none of them."""
        return self._agents.first_of(key, documents)

    def history_row(self, key: str, idx: int) -> HistoryRow:
        """One message of an agent's history, as this transaction sees it."""
        return self._agents.row(key, idx)

    def cut_history(self, key: str, keep: int) -> None:
        """Cut an agent's history back to its first `keep` messages."""
        self._agents.cut(key, keep)

    def clear_history(self, key: str) -> None:
        """Take away an agent's whole history."""
        self._agents.cut(key, 0)

    def restore_agent(self, agent: AgentRecord, rows: Sequence[Json], kept: int) -> None:
        """Have an agent as it was: the first `kept` messages have stayed, `rows` are the others."""
        self._agents.restore(agent, rows, kept)

    # The end

    def require(self, *conditions: sa.ColumnElement[bool], given: Json) -> None:
        """Write only if the conditions hold then, `given` for their parameters; `RunChangedError` otherwise.

        Instead of a look at what they say, where the run is not locked.
        """
        self._writes.conditions += conditions
        self._writes.given |= given

    def flush(self) -> None:
        """Write what is buffered; called once, and committed then or, on a run that is locked, by the caller."""
        counted, self._writes.usage = counted_at_rest(self.run)
        if counted is not self.run:
            self.amend(uncounted=counted.uncounted)
        before, run = self.known.run, self.run
        changed = {
            name: in_row(value)
            for name in self._changed
            if (value := getattr(run, name)) is not (old := getattr(before, name)) and value != old
        }
        if "status" in changed:
            passed(before.status, run.status)
        ends = run.ended and not before.ended
        if ends or self._writes.are_several:
            _ = self.connection  # more than one statement takes a transaction
        if self._lock.is_held:
            self._writes.flush(self.connection, self.now, changed)
            if ends:
                settle(self.connection, run)
        else:
            with self._database.statement() as connection:
                self._writes.flush(connection, self.now, changed)

    def give_back(self) -> None:
        """Keep what is known of the run now, for the next transaction; called after the commit."""
        self._run = self.run.changed(revision=self.run.revision + self._writes.raised)
        self.known.give_back(self.run, self._asked)

    def _counter(self, name: str) -> int:
        """Return a counter of the run, for which no record is copied."""
        found: int = self._pending[name] if name in self._pending else getattr(self._run, name)
        return found

    def _cancelled(self, ask: Json) -> Json:
        return ask | {"status": passed(ask["status"], AskStatus.CANCELLED), "closed_at": self.now}

    def _look_at(self, ask_id: str) -> tuple[AskRecord, ReplyRecord | None] | None:
        if ask_id not in self.known.asks:
            rows = driver.fetch(self.connection, ASK_AND_REPLY, {"run_id": self.run.id, "ask_id": ask_id})
            if not rows:
                return None
            self.known.asks[ask_id] = self._learn(rows[0])
        return self.known.asks[ask_id]

    def _learn(self, row: Sequence[Any]) -> tuple[AskRecord, ReplyRecord | None]:
        reply_at, bodies_at = len(ASK), len(ASK) + len(REPLY)
        ask = ask_of(row[:reply_at])
        reply = reply_of(row[reply_at:bodies_at]) if row[reply_at] is not None else None
        message, answer, agent_at = row[bodies_at], row[bodies_at + 1], bodies_at + 2
        if ask.message_id and message is not None:
            self._documents.learn(ask.message_id, message)
        if reply and reply.document_id:
            self._documents.learn(reply.document_id, answer)
        known = row[agent_at] is not None
        self._agents.learn(agent_of(row[agent_at:]) if known else AgentRecord(key=ask.agent))
        return ask, reply
