"""A failed run continues from where it failed: what came before is kept, the ask that failed is asked again."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from turnwise.base.waits import HumanWait, ResponderWait, RunWait
from turnwise.errors import ConflictError
from turnwise.record.batches.batch_statements import reopen_batch
from turnwise.record.database.columns import Seconds, word
from turnwise.record.database.schema import agent_states, asks, events, histories, replies
from turnwise.record.database.status_statements import change_asks, change_one
from turnwise.record.events.event import EventPlace
from turnwise.record.events.run_events import RunRetried
from turnwise.record.past.export import read_run
from turnwise.record.past.reconstruction import ANSWERED, Past
from turnwise.record.past.restore import ExportedRecord
from turnwise.record.states import AskStatus, RunStatus, passed, status_of_new_ask, status_while_asked
from turnwise.record.tenants.admission import lock_admission, require_room
from turnwise.record.transaction.part import TenantPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.session_queue import begun_after, lock_session
from turnwise.record.values.records import AskRecord, Json, RunRecord
from turnwise.record.webhooks.writing import send_past

_RETRYABLE = ("ERROR", "TIMEOUT")
# Statuses of completed runs that a limit ended: its name, and the option that gives a fork another.
_LIMITS = {
    "MAX_COST": ("cost", "--max-cost USD"),
    "MAX_TOKENS": ("tokens", "--max-tokens N"),
    "FIXED_TURNS": ("turns", "--turns N"),
}
_LATE_EVENTS = 200
_LAST_EVENTS = (
    sa.select(events.c.type, events.c.seq, events.c.data)
    .where(
        events.c.run_id == sa.bindparam("of_run"),
        events.c.seq > sa.bindparam("after"),
        events.c.type.in_([word(name) for name in ("turn.asked", *ANSWERED, "limit.reached")]),
    )
    .order_by(events.c.seq)
)
_UNACCEPT = (
    sa.update(replies)
    .where(replies.c.run_id == sa.bindparam("of_run"), replies.c.ask_id == sa.bindparam("of_ask"), replies.c.accepted)
    .values(accepted=False, reason="retried")
)
_LAST_TOKEN = sa.select(sa.func.max(replies.c.token)).where(
    replies.c.run_id == sa.bindparam("of_run"), replies.c.ask_id == sa.bindparam("of_ask")
)
_REOPEN = {
    status: change_asks(status)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(
        attempts=0,
        # A run that ended by its deadline may have ended in the middle of a handler.
        lost=asks.c.lost
        + sa.case((sa.and_(asks.c.status == word(AskStatus.CANCELLED), asks.c.worker_id.is_not(None)), 1), else_=0),
        token=sa.bindparam("new_token"),
        worker_id=None,
        due_at=None,
        # Failed calls are counted anew, or the first one that fails now would be the last.
        failures=None,
        bucket=None,
        bucket_tokens=None,
        topups=0,
        topup_after=None,
        closed_at=None,
        # A person is asked now; asks of responders keep their place in the queue.
        created_at=sa.case(
            (asks.c.responder == word("user"), sa.bindparam("at", type_=Seconds)), else_=asks.c.created_at
        ),
        traceparent=sa.func.coalesce(sa.bindparam("new_traceparent", type_=sa.Text), asks.c.traceparent),
    )
    for status in (AskStatus.OPEN, AskStatus.RUNNABLE)
}


@dataclass(frozen=True, kw_only=True)
class RetryLimits:
    """Limits of a run from now on; None leaves what it has. `deadline` is in seconds from now."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None
    deadline: float | None = None


class Retries(TenantPart):
    """Has failed runs continue."""

    def retry(
        self, run_id: str, limits: RetryLimits | None = None, *, traceparent: str | None = None
    ) -> tuple[RunRecord, AskRecord | None]:
        """Have a run continue that has ended with ERROR or TIMEOUT; the run, and the ask to be published, if it is one.

        The ask that failed, or was not answered in time, is open again under its id, with its attempts and its
        receipts: what handlers have done is not done again. Where it was the move after a good answer that failed,
        the move is made again. A deadline begins anew, with as many seconds as the run had at first. The run's batch
        is over once it has ended again. `traceparent` is of the request.

        Raises `NotFoundError`, and `ConflictError` with one of the codes `not_failed`, `not_retryable`,
        `session_went_on`, `past_unknown`; `QuotaExceededError` (`too_many_runs`).
        """
        with self._locked(run_id) as transaction:
            if self._max_unfinished_runs:
                lock_admission(self._database, transaction.connection, transaction.run.tenant)
            _refuse(transaction)  # waiting for room would not help such a run
            if self._max_unfinished_runs:
                require_room(transaction.connection, transaction.run.tenant, self._max_unfinished_runs)
            if transaction.run.batch_id is not None:
                reopen_batch(transaction.connection, transaction.run.batch_id)
            record = ExportedRecord(read_run(transaction.connection, transaction.run))
            ended = record.at(transaction.run.last_seq)
            past = record.before_the_end()
            _restore(transaction, record, past, ended)
            error = transaction.run.error
            again = _reopened(transaction, past, record, traceparent)
            ask = record.ask(past.awaiting) if past.awaiting is not None else None
            _go_on(transaction, past, again, ask, limits or RetryLimits(), record.deadline)
            if traceparent is not None:
                transaction.change(stretch=traceparent)
            place = EventPlace(ask_id=past.awaiting)
            if ask is not None:
                place = place._replace(path=ask["path"], turn=ask["turn"], candidate=ask["try_no"])
            retried = transaction.event(RunRetried(to=past.seq, again=again, error=error), place)
            if again and (question := record.question(past)) is not None:
                send_past(transaction.connection, transaction.run, question, transaction.now, retried=retried)
            transaction.mark()
            self._audited(transaction.connection, run_id)
        with self._locked(run_id) as transaction:
            return transaction.run, transaction.open_ask() if again else None


def _refuse(transaction: RunTransaction) -> None:
    run = transaction.run
    if run.status != RunStatus.FAILED:
        if run.status == RunStatus.COMPLETED and _ended_at_limit(run):
            raise ConflictError(_at_limit(transaction), "not_failed")
        told = "is cancelled" if run.status == RunStatus.CANCELLED else f"is {run.status}"
        raise ConflictError(f"the run {run.id} has not failed, it {told}; only a failed run is retried", "not_failed")
    if run.status_code not in _RETRYABLE:
        raise ConflictError(
            f"the run {run.id} has ended with {run.status_code}: the same answers would end it again; fork it at an "
            "event before its end, or submit it anew",
            "not_retryable",
        )
    if run.session_key is None:
        return
    if not lock_session(transaction.connection, run):
        raise ConflictError(
            f"the session {run.session_id!r} of the run {run.id} was deleted; submit the message of {run.id} again",
            "past_unknown",
        )
    later = begun_after(transaction.connection, run)
    if later is not None:
        raise ConflictError(
            f"the session {run.session_id!r} has continued with the run {later}; submit the message of {run.id} again",
            "session_went_on",
        )


def _ended_at_limit(run: RunRecord) -> bool:
    """Return whether a limit that the run was given ended it: a task of a single round ends by itself."""
    return run.status_code in _LIMITS and (run.status_code != "FIXED_TURNS" or bool(run.turns))


def _at_limit(transaction: RunTransaction) -> str:
    """Return why a run that a limit ended is not retried, with the command that continues from there."""
    run, (name, option) = transaction.run, _LIMITS[transaction.run.status_code or ""]
    given = {"of_run": run.id, "after": run.last_seq - _LATE_EVENTS}
    last = {row[0]: row for row in transaction.connection.execute(_LAST_EVENTS, given)}
    reached = last.get("limit.reached")
    refused = reached is not None and (reached[2] or {}).get("message") is not None
    # The call that was refused is asked again; where it was not, what came of the last question is looked at again.
    answers = [last[name][1] for name in ANSWERED if name in last and not refused]
    asked = [last["turn.asked"][1]] if "turn.asked" in last else []
    command = f"turnwise fork {run.id} --at {max(answers or asked, default='EVENT')} {option}"
    return (
        f"the run {run.id} has not failed: its limit of {name} ended it, and a retry would end there again; "
        f"fork it with a higher limit: {command}"
    )


def _restore(transaction: RunTransaction, record: ExportedRecord, past: Past, ended: Past) -> None:
    """Put frames, loop counts, agents and documents back that the end of the run has changed."""
    if not past.started:
        _forget(transaction)
        return
    counts = record.pasts.counts(past.seq)
    for frame in transaction.frames():
        transaction.pop_frame(frame.no)
    for no, frame in sorted(past.frames.items()):
        transaction.push_frame(frame.path, frame.state, no)
        transaction.restore_counts(no, counts.get(no, {}))
    for key, agent in past.agents.items():
        if ended.agents[key] != agent:
            kept = record.kept_at_the_end(key, past)
            transaction.restore_agent(agent, record.history(past, key, kept), kept)
    bodies, now = record.bodies(past.seq), record.bodies(ended.seq)
    for id in record.document_ids:
        if bodies[id] is not now[id]:
            transaction.documents([id])
            transaction.put_document(id, bodies[id], bodies[id].get("metadata", {}).get("parent_id"))


def _forget(transaction: RunTransaction) -> None:
    """Reset a run that failed before its first ask was made: it begins anew, and takes up its session again."""
    for table in (agent_states, histories):
        transaction.connection.execute(sa.delete(table).where(table.c.owner == transaction.run.id))
    for frame in transaction.frames():
        transaction.pop_frame(frame.no)
    transaction.amend(started_at=None, conversation_id=None)


def _reopened(transaction: RunTransaction, past: Past, record: ExportedRecord, traceparent: str | None) -> bool:
    """Open the awaited ask again, unless the run can continue with its answer. Return whether it was opened."""
    if past.awaiting is None:
        return False
    at = transaction.now
    reply = record.reply(past.awaiting, at)
    if reply is not None and reply["kind"] != "error":
        return False
    given = {"of_run": transaction.run.id, "of_ask": past.awaiting}
    transaction.connection.execute(_UNACCEPT, given)
    last = transaction.connection.execute(_LAST_TOKEN, given).scalar_one() or 0
    ask = record.ask(past.awaiting)
    token = max(last, ask["token"]) + 1
    status = passed(AskStatus(ask["status"]), status_of_new_ask(ask["responder"]))
    reopened = given | {"new_token": token, "new_traceparent": traceparent, "at": at}
    change_one(transaction.connection, _REOPEN[status], reopened, status)
    return True


def _go_on(
    transaction: RunTransaction, past: Past, again: bool, ask: Json | None, limits: RetryLimits, own: float | None
) -> None:
    """Let the run continue; `own` is the deadline that it has by itself, in seconds."""
    run, now = transaction.run, transaction.now
    deadline = own if limits.deadline is None else limits.deadline
    status = RunStatus.RUNNING if past.started else RunStatus.QUEUED
    waiting_for: RunWait | None = None
    if again and ask is not None:
        waiting_for = waits_for(ask, ask["id"])
        status = status_while_asked(ask["responder"])
    transaction.amend(
        status=passed(run.status, status),
        status_code=None,
        result=None,
        error=None,
        finished_at=None,
        cancel_requested_at=None,
        awaiting=past.awaiting,
        waiting_for=waiting_for,
        move_due_at=None if again else now,
        deadline_at=None if deadline is None else now + deadline,
        max_cost=run.max_cost if limits.max_cost is None else limits.max_cost,
        max_tokens=run.max_tokens if limits.max_tokens is None else limits.max_tokens,
    )


def waits_for(ask: Json, ask_id: str) -> RunWait:
    """Return what a run waits for while an ask is open."""
    if ask["responder"] == "user":
        return HumanWait(question=ask_id, task=ask["path"])
    return ResponderWait(responder=ask["responder"], agent=ask["agent"].rsplit("/", 1)[-1], queue=ask["queue"])
