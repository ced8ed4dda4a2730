"""One transaction over one locked run.

Writes are buffered and reach the database together at the end, so that a typical move costs a handful of round trips:
the lock, the frames, the awaited ask with all that belongs to it, one burst of writes, the commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Unpack

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection

from turnwise.observability.redaction import redacted
from turnwise.record.asks.new_asks import ask_record
from turnwise.record.budgets.usage_tally import UsageTally
from turnwise.record.database import driver
from turnwise.record.database.database import Database
from turnwise.record.database.rows import ASK, REPLY, RUN_NAMES, agent_of, as_row, ask_of, in_row, reply_of
from turnwise.record.events.event import OF_RUN, EventData, EventPlace
from turnwise.record.runs.agent_book import AgentBook
from turnwise.record.runs.conversations import conversation_id, settle, take_up
from turnwise.record.runs.journal import TOLD, News
from turnwise.record.runs.kept_errors import KeptError, RunError
from turnwise.record.runs.loop_tally import LoopTally
from turnwise.record.runs.outcomes import Receipt
from turnwise.record.runs.records import (
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
from turnwise.record.runs.run_changes import Changes
from turnwise.record.runs.session_queue import earlier_documents, run_after, run_before
from turnwise.record.runs.transaction_statements import ASK_AND_REPLY, DOCUMENTS, FORGET_BEGUN, FRAMES
from turnwise.record.runs.writes import Writes
from turnwise.record.states import AskStatus, RunStatus, passed

# What in an event's data comes from errors.
_TELLS = frozenset(("error", "waiting_for"))


class RunTransaction:
    """A locked run: what it holds, and the changes that are committed together or not at all."""

    def __init__(self, database: Database, connection: Connection, run: RunRecord, now: float) -> None:
        self.connection = connection
        self.run = run
        self.now = now
        self._before = run
        self._database = database
        self._writes = Writes(database, run.id)
        self._changes = Changes(run.last_seq)
        self._agents = AgentBook(connection, run, self._writes, self._changes)
        self._tally = LoopTally(connection, run.id, self._writes)
        self._used = UsageTally()
        self._frames: dict[int, FrameRecord] | None = None
        self._documents: dict[str, Json] = {}
        self._asks: dict[str, tuple[AskRecord, ReplyRecord | None]] = {}
        # For the log, once it is committed.
        self.news: list[News] = []

    # The run

    def change(self, **changes: Unpack[RunChanges]) -> RunRecord:
        """Change columns of the run; `run` shows them at once.

        Raises `IllegalTransitionError` for a status that the run cannot go to.
        """
        if "status" in changes:
            passed(self.run.status, changes["status"])
        self.run = self.run.changed(**changes)
        return self.run

    def add_usage(self, usage: Usage) -> None:
        """Add what model calls used to the run's sums, and to its tenant's of the day."""
        run = self.run
        self._used.add(usage)
        self.run = run.changed(
            prompt_tokens=run.prompt_tokens + usage.prompt_tokens,
            cached_tokens=run.cached_tokens + usage.cached_tokens,
            completion_tokens=run.completion_tokens + usage.completion_tokens,
            calls=run.calls + usage.calls,
            unpriced_calls=run.unpriced_calls + (usage.calls if usage.cost is None else 0),
            cost=run.cost + (usage.cost or 0),
        )

    def reserve(self, cost: Decimal, tokens: int) -> None:
        """Reserve room in the run's own budget, or release it (negative)."""
        run = self.run
        self.run = run.changed(reserved_cost=run.reserved_cost + cost, reserved_tokens=run.reserved_tokens + tokens)

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
        self.run = self.run.changed(
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
        seq = self.run.last_seq + 1
        self.run = self.run.changed(last_seq=seq)
        self._writes.events.append(
            {
                "run_id": self.run.id,
                "seq": seq,
                "type": told.type,
                "at": self.now,
                "path": place.path,
                "turn": place.turn,
                "try_no": place.candidate,
                "ask_id": place.ask_id,
                "data": data,
                "document_id": data.get("document"),
                "changes": None,
            }
        )
        return seq

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

    def run_after(self) -> str | None:
        """The run of the session that waits for this one's end."""
        return run_after(self.connection, self.run)

    def take_up_conversation(self) -> None:
        """Continue with the agents and histories of the session, if the run has one; before anything is read of
        them.
        """
        run = self.run
        if run.session_key is not None:
            self.run = run.changed(conversation_id=conversation_id(run.session_key, run.task))
            take_up(self.connection, self.run)
            self._agents = AgentBook(self.connection, self.run, self._writes, self._changes)
            self._agents.begin()

    # Frames and loop counts

    def frames(self) -> list[FrameRecord]:
        """The stack of tasks, outermost first, with the changes of this transaction."""
        if self._frames is None:
            rows = driver.fetch(self.connection, FRAMES, {"run_id": self.run.id})
            self._frames = {row[0]: FrameRecord(no=row[0], path=row[1], state=row[2]) for row in rows}
            for no, saved in self._writes.saved_frames.items():
                self._frames[no] = replace(self._frames[no], state=saved)
            for no in self._writes.popped_frames:
                self._frames.pop(no, None)
            for no, pushed in self._writes.new_frames.items():
                self._frames[no] = FrameRecord(no=no, path=pushed["path"], state=pushed["state"])
        return [self._frames[no] for no in sorted(self._frames)]

    def push_frame(self, path: str, state: Json, no: int | None = None) -> int:
        """Put a task on the stack; its number is new in this run (`no` also names one that is put back)."""
        no = self.run.last_frame + 1 if no is None else no
        self.run = self.run.changed(last_frame=max(no, self.run.last_frame))
        self._writes.new_frames[no] = {"run_id": self.run.id, "no": no, "path": path, "state": state}
        self._changes.frame(no, None, FrameRecord(no=no, path=path, state=state))
        if self._frames is not None:
            self._frames[no] = FrameRecord(no=no, path=path, state=state)
        return no

    def save_frame(self, no: int, state: Json) -> None:
        """Replace the state of a frame."""
        old = self._frame(no)
        new = replace(old, state=state)
        if no in self._writes.new_frames:
            self._writes.new_frames[no]["state"] = state
        else:
            self._writes.saved_frames[no] = state
        self._changes.frame(no, old, new)
        if self._frames is not None:
            self._frames[no] = new

    def pop_frame(self, no: int) -> None:
        """Take a frame off the stack, its loop counts with it."""
        self._changes.frame(no, self._frame(no), None)
        if self._writes.new_frames.pop(no, None) is None:
            self._writes.saved_frames.pop(no, None)
            self._writes.popped_frames.append(no)
        for place in [place for place in self._writes.counts if place[0] == no]:
            del self._writes.counts[place]
        if self._frames is not None:
            self._frames.pop(no, None)

    def count(self, frame_no: int, key: str, n: int) -> list[tuple[str, int]]:
        """Count `key` once more in a frame; the `n` highest counts of the frame, this one included."""
        self._changes.counted(frame_no, key)
        return self._tally.count(frame_no, key, n)

    def restore_counts(self, frame_no: int, counts: Mapping[str, int]) -> None:
        """Give a frame that is put back the counts that it had."""
        for key, n in counts.items():
            self._writes.counts[frame_no, key] = n

    # Documents

    def documents(self, ids: Iterable[str]) -> dict[str, Json]:
        """The bodies of those documents that exist, by id; also those that earlier runs left to the conversation."""
        wanted = list(dict.fromkeys(ids))
        missing = [name for name in wanted if name not in self._documents]
        if missing:
            rows = self.connection.execute(DOCUMENTS, {"run_id": self.run.id, "ids": missing})
            self._documents |= {row[0]: row[1] for row in rows}
            missing = [name for name in missing if name not in self._documents]
        if missing:
            self._documents |= earlier_documents(self.connection, self.run, missing)
        return {name: self._documents[name] for name in wanted if name in self._documents}

    def put_document(self, id: str, body: Json, parent_id: str | None = None) -> None:
        """Keep a document; one of the same id is replaced and keeps its place in the order."""
        no = self.run.last_document + 1
        self.run = self.run.changed(last_document=no)
        row = {"run_id": self.run.id, "id": id, "no": no, "parent_id": parent_id, "body": body, "created_at": self.now}
        if id in self._writes.documents:
            row["no"] = self._writes.documents[id]["no"]
        if id in self._documents:
            self._changes.document(id, self._documents[id], body)
        self._writes.documents[id] = row
        self._documents[id] = body

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
                self._asks[ask.id] = (ask, reply)
            self.close_ask(reply.ask_id, AskStatus.ANSWERED)

    def put_receipt(self, ask_id: str, receipt: Receipt, token: int, worker_id: str | None) -> None:
        """Keep the receipt of a handler's call, over an earlier one of the same call."""
        begun_at = receipt.begun_at if receipt.begun_at is not None else self.now
        more = {"token": token, "at": self.now, "begun_at": begun_at, "worker_id": worker_id}
        self._writes.receipts.append(as_row(receipt, run_id=self.run.id, ask_id=ask_id) | more)

    def forget_begun(self, ask_id: str) -> None:
        """Forget which calls of the ask had begun: whoever had it knows that none is under way."""
        self.connection.execute(FORGET_BEGUN, {"of_run": self.run.id, "of_ask": ask_id})

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

    def flush(self) -> None:
        """Write what is buffered; called once, before the commit."""
        before, run = self._before, self.run
        changed = {
            name: in_row(value)
            for name in RUN_NAMES
            if (value := getattr(run, name)) is not (old := getattr(before, name)) and value != old
        }
        if "status" in changed:
            passed(self._before.status, self.run.status)
        self._writes.usage = self._used.rows(self.run, self.now)
        self._writes.flush(self.connection, self.now, changed)
        if self.run.ended and not self._before.ended:
            settle(self._database, self.connection, self.run)

    def _cancelled(self, ask: Json) -> Json:
        return ask | {"status": passed(ask["status"], AskStatus.CANCELLED), "closed_at": self.now}

    def _frame(self, no: int) -> FrameRecord:
        return next(frame for frame in self.frames() if frame.no == no)

    def _look_at(self, ask_id: str) -> tuple[AskRecord, ReplyRecord | None] | None:
        if ask_id not in self._asks:
            rows = driver.fetch(self.connection, ASK_AND_REPLY, {"run_id": self.run.id, "ask_id": ask_id})
            if not rows:
                return None
            self._asks[ask_id] = self._learn(rows[0])
        return self._asks[ask_id]

    def _learn(self, row: Sequence[Any]) -> tuple[AskRecord, ReplyRecord | None]:
        reply_at, bodies_at = len(ASK), len(ASK) + len(REPLY)
        ask = ask_of(row[:reply_at])
        reply = reply_of(row[reply_at:bodies_at]) if row[reply_at] is not None else None
        message, answer, agent_at = row[bodies_at], row[bodies_at + 1], bodies_at + 2
        if ask.message_id and message is not None:
            self._documents.setdefault(ask.message_id, message)
        if reply and reply.document_id:
            self._documents.setdefault(reply.document_id, answer)
        known = row[agent_at] is not None
        self._agents.learn(agent_of(row[agent_at:]) if known else AgentRecord(key=ask.agent))
        return ask, reply
