"""A run of its own that has another's past up to one of its events, and continues from there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError, InvalidRequestError
from turnwise.record.database.burst import insert_all
from turnwise.record.database.rows import ASK, RUN, ask_of, run_of
from turnwise.record.database.schema import asks, events, runs
from turnwise.record.database.status_statements import update_runs
from turnwise.record.events.run_events import RunForked
from turnwise.record.past.export import read_run
from turnwise.record.past.reconstruction import Past
from turnwise.record.past.restore import ExportedRecord, write_asks, write_past, write_receipts, write_replies
from turnwise.record.past.retrying import waits_for
from turnwise.record.runs.inbox import MakeAnswer, answer_in
from turnwise.record.runs.submission import Submissions, admit_row
from turnwise.record.states import AskStatus, ResponderKind, RunStatus, passed, status_of_new_ask, status_while_asked
from turnwise.record.transaction.conversations import conversation_id
from turnwise.record.transaction.journal import accepted
from turnwise.record.transaction.json_differences import difference
from turnwise.record.transaction.run_changes import whole
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.fork_origin import ForkOrigin
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import AskRecord, Json, NewFork, NewRun, RunRecord
from turnwise.record.webhooks.writing import send_past, unsend_past

_EVENT = sa.insert(events)
_SET = update_runs().where(runs.c.id == sa.bindparam("of_run"))
_COUNTS: Json = {"accepted": True, "reason": None}
_ASK = sa.select(*ASK).where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))


class Forks(Submissions):
    """Makes forks."""

    def fork(
        self, run_id: str, new: NewFork, answer: MakeAnswer | None = None
    ) -> tuple[RunRecord, AskRecord | None, bool]:
        """Keep a fork of a run; the fork, the ask to be published if it is one, and whether the fork is new.

        It has the events, documents, frames, agents and histories of the other as they were after the last move or
        reply that ended at `new.at` or before, and was not the end of the run. It has used nothing yet. `answer` is
        given to the question that is open there, in the same transaction, if the fork is new; where a model or handlers
        are asked, the text of `new.message` is their answer.

        Raises `NotFoundError`; `InvalidRequestError` for an event that there is not; `ConflictError` with one of the
        codes `past_unknown`, `session_exists`, `idempotency_mismatch`; `QuotaExceededError` (`too_many_runs`).
        """
        with self._locked(run_id) as transaction:
            origin = transaction.run
            if not 1 <= new.at <= origin.last_seq:
                raise InvalidRequestError(f"{run_id} has no event {new.at}; name one from 1 to {origin.last_seq}")
            record = ExportedRecord(read_run(transaction.connection, origin))
        past = _parting(record, new.at)
        asked = _asked(record, past)
        if new.message is not None and past.started and asked is None:
            raise InvalidRequestError(
                f"at event {new.at} of {run_id} no one is asked, so a message cannot be the answer; "
                "fork at a human.asked or turn.asked event, or at event 1, or leave the message out"
            )
        copy = _Fork(record, past, new, origin)
        with self._database.begin() as connection:
            run, created = admit_row(self._database, connection, self._tenant, copy.row(), self._max_unfinished_runs)
            if not created:
                return run, None, False
            run, ask = self._write(connection, copy, run)
            if answer is not None and asked == "user":
                run = self._answered(connection, run, answer, new.traceparent)
            elif (question := copy.open_question()) is not None:
                send_past(connection, run, question, run.created_at)
            self._audited(connection, run.id)
        self._core.after_commit(run, [accepted(forked_from=run_id)])
        return run, ask, True

    def _answered(
        self, connection: Connection, run: RunRecord, answer: MakeAnswer, traceparent: str | None
    ) -> RunRecord:
        """Give the fork the answer to its question; the fork as it is then."""
        time = self._database.now(connection)
        of_fork = KnownRun(run=run, time=time, read_at=self.clock.monotonic())
        transaction = RunTransaction(self._database, RunLock(connection), of_fork, time)
        answer_in(transaction, answer, run.awaiting, traceparent=traceparent)
        transaction.flush()
        return transaction.run

    def _write(self, connection: Connection, fork: _Fork, run: RunRecord) -> tuple[RunRecord, AskRecord | None]:
        """Write what the fork has beside its row; the fork as it is then, and the ask that is open."""
        # The place says whether the session is new. A look before the insert would miss a session that another
        # transaction is about to commit, and the runs of both would work in it at once.
        if run.session_no not in (None, 1):
            raise ConflictError(
                f"there is a session {run.session_id!r} already; a fork can only begin a new one", "session_exists"
            )
        fork.write_events(connection, run.created_at)
        write_past(connection, fork.record, fork.past, run.id)
        if fork.past.started:
            fork.write_asks(connection, run.created_at)
        connection.execute(_SET.values(fork.columns(run)), {"of_run": run.id})
        made = run_of(connection.execute(sa.select(*RUN).where(runs.c.id == run.id)).one())
        if made.awaiting is None or fork.past.answered:
            return made, None
        row = connection.execute(_ASK, {"of_run": run.id, "of_ask": made.awaiting}).one()
        return made, ask_of(row)


def _parting(record: ExportedRecord, at: int) -> Past:
    """The state from which a fork at event `at` continues."""
    for event in record.events:
        if event["type"] == "run.forked" and event["seq"] > at:
            origin = event["data"]["run"]
            raise ConflictError(
                f"event {at} of {record.run['id']} happened in {origin}, which it was forked from; fork {origin}",
                "past_unknown",
            )
    past = record.before_an_end(at)
    if past.started:
        return past
    begun = {} if record.run["conversation_id"] is None else record.pasts.all[-1].begun
    agents = begun or past.agents
    return replace(past, seq=max(past.seq, 1), agents=dict(agents), begun=dict(agents))


def _asked(record: ExportedRecord, past: Past) -> ResponderKind | None:
    """The kind of responder whose answer is awaited."""
    if not past.started or past.awaiting is None or past.answered:
        return None
    found: ResponderKind = record.ask(past.awaiting)["responder"]
    return found


class _Fork:
    """A fork that is being made."""

    def __init__(self, record: ExportedRecord, past: Past, new: NewFork, origin: RunRecord) -> None:
        self.record = record
        self.past = past
        self.new = new
        self.origin = origin
        self._told: Json = {"from": past.seq + 1, "spent": ["0", 0]}
        self._told["begun"] = {
            key: whole(replace(agent, base_len=0, base_epoch=0)) for key, agent in past.agents.items()
        }
        self._turned(new.turns)

    def row(self) -> NewRun:
        """The fork as a new run."""
        new, origin = self.new, self.origin
        return NewRun(
            id=new.id,
            task=origin.task,
            version=new.version,
            message=self._message(),
            priority=origin.priority,
            tags=tuple(origin.tags),
            metadata=origin.metadata,
            session_id=new.session_id,
            max_cost=origin.max_cost if new.max_cost is None else new.max_cost,
            max_tokens=origin.max_tokens if new.max_tokens is None else new.max_tokens,
            turns=origin.turns if new.turns is None else new.turns,
            max_turns=origin.max_turns,
            deadline=self.record.deadline if new.deadline is None else new.deadline,
            on_limit=new.on_limit or origin.on_limit,
            can_wait=origin.can_wait if new.can_wait is None else new.can_wait,
            idempotency_key=new.idempotency_key,
            body_hash=new.body_hash,
            forked_from=ForkOrigin(run=origin.id, at=self.past.seq),
            model=origin.model if new.model is None else new.model,
            traceparent=new.traceparent,
        )

    def _message(self) -> Json:
        """Return the first message; another one than the origin's follows the same conversation."""
        own, new = self.origin.message, self.new.message
        if new is None or self.past.started:
            return own
        return new | {name: own[name] for name in ("history",) if name in own}

    def open_question(self) -> Json | None:
        """The event with which the person was asked whom the fork waits for; None if it waits for no one."""
        return self.record.question(self.past) if _asked(self.record, self.past) == "user" else None

    def columns(self, run: RunRecord) -> Json:
        """Return what the fork's row has from the past."""
        past = self.past
        made: Json = {"last_seq": past.seq + 1}
        if not past.started:
            return made
        awaiting, status = self._renamed(past.awaiting), RunStatus.RUNNING
        waiting_for: Json | None = None
        due: float | None = run.created_at
        if awaiting is not None and past.awaiting is not None and not past.answered:
            ask = self.record.ask(past.awaiting)
            waiting_for, due = waits_for(ask, awaiting).as_json(), None
            status = status_while_asked(ask["responder"])
        passed(run.status, status)
        made |= {"status": status, "awaiting": awaiting, "waiting_for": waiting_for, "move_due_at": due}
        made |= {"started_at": run.created_at, "last_frame": past.last_frame}
        made["last_document"] = len(self.record.found["documents"])
        if run.session_key is not None and self.new.keeps_conversation:
            made["conversation_id"] = conversation_id(run.session_key, run.task)
        return made

    def write_events(self, connection: Connection, at: float) -> None:
        """Copy the events up to the fork, and add the one that says so."""
        rows = [self._event(event) for event in self.record.events[: self.past.seq]]
        told = RunForked(
            run=self.origin.id,
            at=self.past.seq,
            version=self.new.version,
            model=self.new.model,
            given=self.new.message is not None and _asked(self.record, self.past) in ("llm", "agent"),
        )
        forked = {"seq": self.past.seq + 1, "type": told.type, "at": at, "data": told.as_json(), "changes": self._told}
        rows.append(dict.fromkeys(rows[0]) | forked)
        insert_all(connection, _EVENT, [row | {"run_id": self.new.id} for row in rows])
        unsend_past(connection, self.new.id, self.past.seq)

    def write_asks(self, connection: Connection, now: float) -> None:
        """Copy what was asked, replied and received; the ask that waits for an answer is open again."""
        past, fork_id, found = self.past, self.new.id, self.record.found
        seen = {event["ask_id"] for event in self.record.events[: past.seq]}
        at = self.record.events[past.seq - 1]["at"]
        asked = [row for row in found["asks"] if row["id"] in seen]
        write_asks(connection, fork_id, [self._of_fork(row, "id", **self._state(row, now)) for row in asked])
        awaited = self.record.reply(past.awaiting, at) if past.awaiting is not None else None
        replied = [
            # The other run has paid for it. A retry after the fork's place may have taken back what counted there.
            self._of_fork(row, "ask_id", usage=None, cost=None, **(_COUNTS if row is awaited else {}))
            for row in found["replies"]
            if row["ask_id"] in seen and row["at"] <= at and self._is_answered(row["ask_id"])
        ]
        write_replies(connection, fork_id, replied)
        # Handlers write theirs between moves, without an event.
        until = self.record.events[self.new.at - 1]["at"]
        received = [
            self._of_fork(row, "ask_id")
            for row in found["receipts"]
            if row["ask_id"] in seen and row["at"] <= until and row["status"] == "done"
        ]
        write_receipts(connection, fork_id, received)

    def _of_fork(self, row: Json, id: str, **changes: Any) -> Json:
        """Return a row of the origin with the ask's id in `id` as the fork has it, and with the changes."""
        return row | {id: self._renamed(row[id])} | changes

    def _state(self, row: Json, now: float) -> Json:
        if self._is_answered(row["id"]):
            return {"status": passed(None, AskStatus.ANSWERED)}
        status = passed(None, status_of_new_ask(row["responder"]))
        fresh = dict.fromkeys(
            (
                "worker_id",
                "due_at",
                "topup_after",
                "claimed_at",
                "closed_at",
                # Failed calls are counted anew, or the first one that fails in the fork would be the last.
                "failures",
                "bucket",
                "bucket_tokens",
                "parked",
                "parked_at",
            )
        )
        given = self.new.message if row["responder"] != "user" else None
        return fresh | {
            "extra": row["extra"] if given is None else row["extra"] | {"given": given["content"]},
            "status": status,
            "attempts": 0,
            "topups": 0,
            "deferrals": 0,
            "lost": 0,
            "token": 0,
            "created_at": now,
            "traceparent": self.new.traceparent,
        }

    def _is_answered(self, ask_id: str) -> bool:
        return ask_id != self.past.awaiting or self.past.answered

    def _event(self, event: Json) -> Json:
        document = (event["data"] or {}).get("document")
        return event | {"ask_id": self._renamed(event["ask_id"]), "document_id": document}

    def _renamed(self, ask_id: str | None) -> Any:
        if ask_id is None or not ask_id.startswith(f"{self.origin.id}."):
            return ask_id
        return self.new.id + ask_id.removeprefix(self.origin.id)

    def _turned(self, turns: int | None) -> None:
        """Give the root the fork's own limit of turns."""
        frames = self.past.frames
        if turns is not None and frames:
            root = frames[min(frames)]
            limited = replace(root, state=root.state | {"turns": turns})
            self.past = replace(self.past, frames=frames | {root.no: limited})
            found = difference({"state": root.state}, {"state": limited.state})
            if found is not None:
                self._told["frames"] = {str(root.no): found}
