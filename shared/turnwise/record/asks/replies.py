"""Taking a responder's reply, exactly one for each ask."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import sqlalchemy as sa

from turnwise.errors import IllegalTransitionError, RunChangedError
from turnwise.observability.redaction import redacted
from turnwise.record.budgets.settlement import count_and_tell, settle_lost
from turnwise.record.database.schema import replies
from turnwise.record.events.ask_events import TurnReplied, attempt_at
from turnwise.record.events.usage_events import settled_json
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import KeptError
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AskRecord, Claim, ReplyRecord

_SAME = sa.select(replies.c.accepted).where(
    replies.c.run_id == sa.bindparam("run_id"),
    replies.c.ask_id == sa.bindparam("ask_id"),
    replies.c.token == sa.bindparam("token"),
)


class Replies(RecordPart):
    """Writes replies under the fencing token of their claim."""

    def reply(self, claim: Claim, reply: Reply, then: Callable[[RunTransaction], None] | None = None) -> bool:
        """Write a reply with all that it changes, and return whether it was accepted.

        A reply under a token that is no longer current is kept for the books only: its usage is added to the run's,
        and told in an event, nothing else changes. The same claim may reply again after a lost connection and gets the
        first outcome. `then` runs in the same transaction after an accepted reply. It is called again, with another
        transaction, if what the claim's holder knew of the run turns out to be out of date.
        """
        known = claim.known
        if known is not None and known.take():
            # An illegal transition would show here, too, that what is known is wrong.
            with suppress(RunChangedError, IllegalTransitionError):
                return self._on_known(known, lambda transaction: self._reply(transaction, claim, reply, then))
        with self._locked(claim.ask.run_id) as transaction:
            return self._reply(transaction, claim, reply, then)

    def _reply(
        self,
        transaction: RunTransaction,
        claim: Claim,
        reply: Reply,
        then: Callable[[RunTransaction], None] | None,
    ) -> bool:
        ask = transaction.ask(claim.ask.id)
        reason = why_stale(transaction, ask, claim)
        if reason is not None:
            return self._discard(transaction, claim, reply, reason)
        accept(transaction, claim.ask, reply, claim.token, claim.worker_id)
        if reply.kind == "error" and reply.in_doubt:
            transaction.doubt_ask(claim.ask.id)
        elif reply.kind == "error":  # its handler has said so itself: if the run is retried, nothing is in doubt
            transaction.forget_begun(claim.ask.id)
        if then is not None:
            then(transaction)
        return True

    def _discard(self, transaction: RunTransaction, claim: Claim, reply: Reply, reason: str) -> bool:
        given = {"run_id": claim.ask.run_id, "ask_id": claim.ask.id, "token": claim.token}
        first = transaction.connection.execute(_SAME, given).first()
        if first is not None:
            return bool(first[0])
        transaction.add_reply(reply_row(transaction, claim.ask, reply, claim.token, claim.worker_id, reason))
        count_and_tell(transaction, claim.ask, claim.token, reply.usage, reply.calls)
        return False


def accept(transaction: RunTransaction, ask: AskRecord, reply: Reply, token: int, worker_id: str | None) -> None:
    """Write an accepted reply: row, document, history, agent, usage, events; then the run is due for a move."""
    if reply.document is not None:
        transaction.put_document(reply.document.id, reply.document.body, reply.document.parent_id)
    transaction.add_reply(reply_row(transaction, ask, reply, token, worker_id))
    if reply.keep_history is not None:
        transaction.cut_history(ask.agent, reply.keep_history)
    if reply.history:
        transaction.append_history(ask.agent, reply.history)
    if reply.record is not None or reply.state is not None:
        transaction.save_agent(ask.agent, record=reply.record, state=reply.state)
    replied = TurnReplied(
        responder=ask.responder,
        kind=reply.kind,
        document=reply.document.id if reply.document is not None else None,
        error=reply.error,
        attempt=attempt_at(ask, worker_id, reply.work) if worker_id is not None else None,
        tools=reply.tools,
        version=reply.version,
    )
    transaction.event(replied, ask.place)
    count_and_tell(transaction, ask, token, reply.usage, reply.calls)
    if reply.forfeits:
        settle_lost(transaction, ask.id, token, ask)
    transaction.mark()
    transaction.change(move_due_at=transaction.now)


def why_stale(transaction: RunTransaction, ask: AskRecord | None, claim: Claim) -> str | None:
    """Return why the claim's holder may no longer write of the ask; None if it may."""
    if transaction.run.ended:
        return "run_ended"
    if ask is None or ask.status == AskStatus.ANSWERED:
        return "already_answered"
    if ask.status == AskStatus.CANCELLED:
        return "cancelled"
    if ask.status != AskStatus.LEASED or ask.token != claim.token:
        return "lease_lost"
    return None


def reply_row(
    transaction: RunTransaction,
    ask: AskRecord,
    reply: Reply,
    token: int,
    worker_id: str | None = None,
    reason: str | None = None,
) -> ReplyRecord:
    """A reply as its row; `reason` says why it is not accepted."""
    return ReplyRecord(
        run_id=ask.run_id,
        ask_id=ask.id,
        token=token,
        kind=reply.kind,
        accepted=reason is None,
        reason=reason,
        document_id=reply.document.id if reply.document else None,
        error=KeptError(found=redacted(reply.error.as_json())) if reply.error is not None else None,
        usage=settled_json(reply.usage) if reply.usage else None,
        cost=reply.usage.cost if reply.usage else None,
        worker_id=worker_id,
        at=transaction.now,
        traceparent=reply.traceparent,
    )
