"""Asks that no one may answer before a person has said how to continue."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from turnwise.base.waits import ParkedWait, ResponderWait
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError
from turnwise.observability.redaction import redacted
from turnwise.record.asks.late_outcomes import count_late
from turnwise.record.asks.parked_reason import LastHolder, LostAttempt, ParkedReason, parked_reason
from turnwise.record.asks.replies import accept, why_stale
from turnwise.record.budgets.settlement import count_and_tell, release_reservations
from turnwise.record.database.columns import ONE, Document, word
from turnwise.record.database.rows import ASK, RECEIPT, ask_of, receipt_of
from turnwise.record.database.schema import asks, events, receipts, workers
from turnwise.record.database.status_statements import change_asks, change_one
from turnwise.record.events.ask_events import AskParked, AskResolved, attempt_at
from turnwise.record.states import AskStatus, RunStatus, passed
from turnwise.record.transaction.part import RecordPart, TenantPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import CodedError, KeptError, RunError
from turnwise.record.values.list_place import ListPlace, oldest_first
from turnwise.record.values.outcomes import Parking, Receipt, Reply, Resolution
from turnwise.record.values.records import AskRecord, Claim, Json

# A worker, and since when it had the ask.
_Held = tuple[str | None, float | None]
# Programs of before asks were resolved closed what they parked, and ended the run.
PARKED = sa.and_(asks.c.status == word(AskStatus.PARKED), asks.c.closed_at.is_(None))
_THIS = sa.and_(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
_PARK = (
    change_asks(AskStatus.PARKED, AskStatus.LEASED)
    .where(_THIS)
    .values(
        token=asks.c.token + 1,
        # Should its run end before a person has decided, a retry of it knows no more.
        lost=asks.c.lost + 1,
        worker_id=None,
        due_at=None,
        parked=sa.bindparam("why", type_=Document),
        parked_at=sa.bindparam("at"),
    )
)
_REOPEN = (
    change_asks(AskStatus.RUNNABLE, AskStatus.PARKED)
    .where(_THIS)
    .values(
        token=asks.c.token + 1,
        attempts=0,
        lost=0,
        topups=0,
        topup_after=None,
        parked=sa.bindparam("why", type_=Document),
        traceparent=sa.func.coalesce(sa.bindparam("new_traceparent", type_=sa.Text), asks.c.traceparent),
    )
)
_NOTE = sa.update(asks).where(_THIS).values(parked=sa.bindparam("why", type_=Document))
_BEGUN = sa.and_(
    receipts.c.run_id == sa.bindparam("of_run"),
    receipts.c.ask_id == sa.bindparam("of_ask"),
    receipts.c.status == word("begun"),
)
_FIRST_BEGUN = sa.select(*RECEIPT).where(_BEGUN).order_by(receipts.c.call_no).limit(ONE)
_LAST_CALL = sa.select(sa.func.max(receipts.c.call_no)).where(
    receipts.c.run_id == sa.bindparam("of_run"), receipts.c.ask_id == sa.bindparam("of_ask")
)
_WORKER = sa.select(workers.c.host, workers.c.pid).where(workers.c.id == sa.bindparam("worker_id"))
_LOST_ATTEMPTS = (
    sa.select(events.c.data, events.c.at)
    .where(
        events.c.run_id == sa.bindparam("of_run"),
        events.c.ask_id == sa.bindparam("of_ask"),
        events.c.type == word("ask.expired"),
    )
    .order_by(events.c.seq)
)


class AskParking(RecordPart):
    """Parks asks."""

    def park(self, claim: Claim, parking: Parking) -> bool:
        """Let a claimed ask wait for a person, holding no one; False if the claim was no longer held.

        The run is `waiting` meanwhile; only its deadline and a cancellation end it.
        """
        with self._locked(claim.ask.run_id) as transaction:
            ask = transaction.ask(claim.ask.id)
            if ask is None or why_stale(transaction, ask, claim) is not None:
                return count_late(transaction, claim, parking)
            count_and_tell(transaction, claim.ask, claim.token, parking.usage, parking.calls)
            release_reservations(transaction, ask, claim.token)
            park_ask(transaction, ask, parking)
        return True


class ParkedAsks(TenantPart):
    """Lists the tenant's parked asks, and takes what people say of them."""

    def parked_asks(self, limit: int = 100, *, after: ListPlace | None = None) -> list[AskRecord]:
        """Parked asks, the one that waits longest first; those behind `after`."""
        own = self._own(sa.select(*ASK).where(PARKED), asks.c.run_id)
        statement = oldest_first(own, asks.c.parked_at, asks.c.id, after).limit(limit)
        with self._database.read() as connection:
            return [ask_of(row) for row in connection.execute(statement)]

    def parked_ask(self, run_id: str, ask_id: str) -> AskRecord:
        """A parked ask of a run; raises as `resolve` does for one that there is not, or no more."""
        with self._locked(run_id) as transaction:
            return _parked(transaction, ask_id)[0]

    def resolve(self, run_id: str, ask_id: str, resolution: Resolution) -> AskRecord:
        """Continue with a parked ask as a person says, and return the ask as it was before.

        Raises `NotFoundError` for an ask that was never parked, `ConflictError` (`already_resolved`) for one that is
        no longer, and `InvalidRequestError` for a result where no handler was called.
        """
        with self._locked(run_id) as transaction:
            ask, why = _parked(transaction, ask_id)
            if resolution.outcome == "happened" and why.call is None:
                raise InvalidRequestError(
                    f"the ask {ask.id} is for a model, not for a handler: resolve it with again or fail"
                )
            told = AskResolved(outcome=resolution.outcome, reason=why.reason, tool=why.tool)
            transaction.event(told, ask.place)
            _RESOLVE[resolution.outcome](transaction, ask, why, resolution)
            self._audited(transaction.connection, ask_id)
        return ask


def park_ask(transaction: RunTransaction, ask: AskRecord, parking: Parking, *, lost_now: bool = False) -> None:
    """Park an ask whose run is locked, with all that a person has to know of it.

    `lost_now`: its holder has just been found lost.
    """
    passed(ask.status, AskStatus.PARKED)
    given = {"of_run": ask.run_id, "of_ask": ask.id}
    kept = redacted(_why(transaction, ask, parking, _lost_attempts(transaction, ask, lost_now)).as_json())
    parked = given | {"why": kept, "at": transaction.now}
    change_one(transaction.connection, _PARK, parked, AskStatus.PARKED)
    why = parked_reason(kept)
    # Of one whose holder was lost, the take-over has told it.
    held = None if lost_now else attempt_at(ask, ask.worker_id, parking.work)
    transaction.event(AskParked(why=why, attempt=held), ask.place)
    wait = ParkedWait(ask=ask.id, agent=ask.agent_name, reason=why.reason, tool=why.tool)
    # A cancellation that was requested meanwhile is still to be carried out.
    due_at = transaction.now if transaction.run.cancel_requested_at is not None else None
    transaction.change(status=RunStatus.WAITING, waiting_for=wait, move_due_at=due_at)


def _lost_attempts(transaction: RunTransaction, ask: AskRecord, lost_now: bool) -> list[LostAttempt]:
    """Return who was lost with the ask, and when, in order."""
    rows = transaction.connection.execute(_LOST_ATTEMPTS, {"of_run": ask.run_id, "of_ask": ask.id})
    lost = [LostAttempt(worker=data.get("worker"), claimed_at=data.get("claimed_at"), lost_at=at) for data, at in rows]
    if lost_now:
        lost.append(LostAttempt(worker=ask.worker_id, claimed_at=ask.claimed_at, lost_at=transaction.now))
    return lost


def _why(transaction: RunTransaction, ask: AskRecord, parking: Parking, lost: list[LostAttempt]) -> ParkedReason:
    """Return what is kept of it: `reason`, the call and its tool where one is known, who had it and since when, the
    error.
    """
    why = ParkedReason(reason=parking.reason, attempts=ask.attempts)
    held: _Held | None = (lost[-1].worker, lost[-1].claimed_at) if lost else None
    if ask.responder == "agent" or parking.call is not None:
        why, of_call = _call(transaction, ask, parking, why)
        held = of_call or held
    if held is not None:
        worker = _holder(transaction, held[0]) if held[0] is not None else None
        why = replace(why, is_held=True, was_lost=bool(lost), worker=worker, began_at=held[1])
    if parking.error is not None:
        attempts = [each.as_json() for each in lost]
        why = replace(why, error=KeptError(found=parking.error.as_json() | {"attempts": attempts}))
    return why


def _holder(transaction: RunTransaction, worker_id: str) -> LastHolder:
    """The worker and where it runs, if that is still known."""
    row = transaction.connection.execute(_WORKER, {"worker_id": worker_id}).first()
    return LastHolder(id=worker_id) if row is None else LastHolder(id=worker_id, host=row[0], pid=row[1])


def _call(
    transaction: RunTransaction, ask: AskRecord, parking: Parking, why: ParkedReason
) -> tuple[ParkedReason, _Held | None]:
    """The reason with the call that is in doubt, and who made it, where that is known."""
    given = {"of_run": ask.run_id, "of_ask": ask.id}
    row = transaction.connection.execute(_FIRST_BEGUN, given).first()
    begun = receipt_of(row) if row is not None else None
    call = parking.call or begun
    if call is None:
        last = transaction.connection.execute(_LAST_CALL, given).scalar()
        return replace(why, call=(last or 0) + 1), None
    why = replace(why, call=call.call_no, tool=call.tool, arguments=call.arguments, idempotency_key=call.key)
    if parking.worker is not None:
        return why, (parking.worker, ask.claimed_at)
    if begun is not None and begun.call_no == call.call_no:
        return why, (begun.worker_id, begun.begun_at)
    return why, None


def _parked(transaction: RunTransaction, ask_id: str) -> tuple[AskRecord, ParkedReason]:
    ask = transaction.ask(ask_id)
    if ask is not None and ask.responder == "user":
        raise InvalidRequestError(
            f"{ask_id} is a question; answer it with POST /v1/runs/{ask.run_id}/messages (turnwise answer)"
        )
    if ask is None or ask.parked is None:
        raise NotFoundError(f"there is no parked ask {ask_id!r}; list the inbox to see what is")
    why = ask.parked
    if transaction.run.ended or ask.status != AskStatus.PARKED:
        outcome = why.outcome
        told = f"somebody has resolved it already ({outcome})" if outcome else "it is parked no longer"
        if transaction.run.ended and not outcome:
            told = f"its run has ended ({transaction.run.status})"
        raise ConflictError(f"{ask_id} cannot be resolved: {told}", code="already_resolved")
    return ask, why


def _happened(transaction: RunTransaction, ask: AskRecord, why: ParkedReason, resolution: Resolution) -> None:
    """The call's result is what the person says; its handler is not called again."""
    assert why.call is not None  # `resolve` has refused one without a call
    receipt = Receipt(
        call_no=why.call,
        tool=why.tool or "",
        status="done",
        key=why.idempotency_key or "",
        effect="once",
        arguments=why.arguments,
        result=resolution.result or {"value": None},
        begun_at=why.began_at,
    )
    transaction.forget_begun(ask.id)
    transaction.put_receipt(ask.id, receipt, ask.token + 1, None)
    _reopen(transaction, ask, why, resolution)


def _again(transaction: RunTransaction, ask: AskRecord, why: ParkedReason, resolution: Resolution) -> None:
    """The call is made again, with the same key; attempts are counted anew."""
    transaction.forget_begun(ask.id)
    _reopen(transaction, ask, why, resolution)


def _reopen(transaction: RunTransaction, ask: AskRecord, why: ParkedReason, resolution: Resolution) -> None:
    given = _resolved(transaction, ask, why, resolution) | {"new_traceparent": resolution.traceparent}
    change_one(transaction.connection, _REOPEN, given, AskStatus.RUNNABLE)
    wait = ResponderWait(responder=ask.responder, agent=ask.agent_name, queue=ask.queue)
    transaction.change(status=RunStatus.RUNNING, waiting_for=wait)


def _fail(transaction: RunTransaction, ask: AskRecord, why: ParkedReason, resolution: Resolution) -> None:
    """The run ends with ERROR, at its next move."""
    transaction.connection.execute(_NOTE, _resolved(transaction, ask, why, resolution))
    if why.error is not None:
        error: RunError = why.error
    else:
        tool = why.tool or ""
        message = f"no one knows whether the handler of {tool!r} has done its work, and a person let the run fail"
        error = CodedError(type="OutcomeUnknown", code=why.reason, message=message, place=ask.path, tool=tool)
    reply = Reply(kind="error", error=error, traceparent=resolution.traceparent)
    accept(transaction, ask, reply, ask.token, None)


def _resolved(transaction: RunTransaction, ask: AskRecord, why: ParkedReason, resolution: Resolution) -> Json:
    noted = replace(why, outcome=resolution.outcome, resolved_at=transaction.now)
    return {"of_run": ask.run_id, "of_ask": ask.id, "why": noted.as_json()}


_RESOLVE = {"happened": _happened, "again": _again, "fail": _fail}
