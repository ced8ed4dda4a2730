"""The handler calls of a claimed ask: what earlier attempts have done is taken from the record.

What is written, and when:

- Before a call begins, the calls before it are on record if one of them may not be made again for nothing (its effect
  is not "read_only"), and it itself as `begun` if it is "once". That is one transaction.
- Before an ask is deferred because a call is to be tried again, all calls before that one.
- Nothing is written before an ask's first call: the claim says that it may have begun. Nor after the last one: its
  result is the reply.

So an attempt that follows a lost one finds the outcome of a "once" call unknown if it is on record as begun, or if it
is the first one and has left no record; then a person has to say what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from turnwise.agents.tools.handler_calls import HandlerCall, HandlerCalls, Interruption, Kept
from turnwise.base.text import value_as_text
from turnwise.errors import ApplicationError
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_registry import owners_in
from turnwise.messages.wire import Owners, decode_value, encode_tool, encode_value
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.kept_errors import RaisedError
from turnwise.record.values.outcomes import Parking, Receipt
from turnwise.record.values.records import Claim, Json
from turnwise.serving.attempts.served_agent import ServedAgent
from turnwise.serving.attempts.work_times import Part, Work


class ReceiptRecord(Protocol):
    """The destination of receipts, while the claim is held."""

    def keep(self, claim: Claim, receipts: Sequence[Receipt]) -> bool | None:
        """Write them; False if the ask is another's by now, None if this process ends before it could."""
        ...

    def holds(self, claim: Claim) -> bool:
        """Return whether the lease of the claim's worker is known to run, without asking the database."""
        ...


class StoreRecord:
    """Writes to the store once; for whoever holds no lease that could run out."""

    def __init__(self, store: WorkerRole) -> None:
        self._store = store

    def keep(self, claim: Claim, receipts: Sequence[Receipt]) -> bool | None:
        """Write them; raises `DatabaseUnavailableError`."""
        return self._store.keep_receipts(claim, receipts)

    def holds(self, claim: Claim) -> bool:
        """Always."""
        return True


class OutcomeUnknown(Interruption):
    """No one knows whether a call that may not be made twice was made.

    `error` is what it ended with just now; None if it was an earlier attempt's.
    """

    def __init__(self, call: HandlerCall, error: Exception | None = None) -> None:
        super().__init__(call.tool)
        self.call = call
        self.error = error


class ClaimLost(Interruption):
    """The ask is another's: what is done from here on would be done twice."""


class LeaseLate(Interruption):
    """The lease could not be renewed in time, so the ask may be another's before long."""


class Ending(Interruption):
    """This process ends before it could write what it has done."""


class ServedCalls(HandlerCalls):
    """The calls of one attempt at an ask; `before` are the receipts of earlier ones."""

    def __init__(
        self,
        claim: Claim,
        served: ServedAgent,
        before: Sequence[Receipt],
        record: ReceiptRecord,
        find: Callable[[str], ChatDocument | None],
        work: Work,
    ) -> None:
        super().__init__(claim.ask.id)
        self._claim = claim
        self._served = served
        self._before = {receipt.call_no: receipt for receipt in before} if before else {}
        self._record = record
        self._find = find
        self._work = work
        self._part: Part | None = None
        self._done: list[tuple[HandlerCall, Any]] = []
        # Of what is done, before a call that may be tried again: it may change the agent, and fail.
        self._ready: list[Receipt] = []
        # The call that is being made, if it may not be made twice.
        self.in_doubt: HandlerCall | None = None

    def kept(self, call: HandlerCall) -> Kept | None:
        """Return what is on record, with what the call has changed of its agent."""
        receipt = self._before.get(call.no)
        if receipt is None or receipt.status != "done":
            return None
        if receipt.tool and receipt.tool != call.tool:
            raise ApplicationError(
                f"call {call.no} of the ask {self._claim.ask.id} was one of {receipt.tool!r} and is now one of "
                f"{call.tool!r}; the application has changed, or decides differently each time, which handlers it calls"
            )
        self._served.restore(receipt.state, receipt.record)
        return Kept(self._value(receipt.result or {}))

    def begins(self, call: HandlerCall) -> None:
        """Write what has to be on record before the call; raises an `Interruption` if it may not be made."""
        if call.effect == "once" and self._may_have_begun(call):
            raise OutcomeUnknown(call)
        later = call.effect == "once" and call.no > 1
        if later or self._must_be_kept:
            self._keep([*self._receipts(), *([begun(call)] if later else [])])
        elif not self._record.holds(self._claim):
            raise LeaseLate
        self._ready = self._receipts() if _may_be_tried_again(call) else []
        self.in_doubt = call if call.effect == "once" else None
        self._part = self._work.begin("tool", call.tool)

    def ended(self, call: HandlerCall, value: Any) -> None:
        """Remember the result, to be written if another call follows."""
        self.in_doubt = None
        if self._part is not None:
            self._work.end(self._part)
        self._done.append((call, value))

    def unknown(self, call: HandlerCall, error: Exception) -> None:
        """Raises `OutcomeUnknown`."""
        raise OutcomeUnknown(call, error) from error

    def settle(self) -> None:
        """Write what was done, before the ask is left to another attempt; raises an `Interruption`."""
        if self._must_be_kept:
            self._keep(self._receipts())

    def defer(self) -> None:
        """Write all that was done before the call that is to be tried again; raises an `Interruption`."""
        if self._ready:
            self._keep(self._ready)

    @property
    def unkept(self) -> bool:
        """Return whether a call that may not be made twice has ended, and is not on record."""
        return any(call.effect == "once" for call, _ in self._done)

    @property
    def _must_be_kept(self) -> bool:
        return any(call.effect != "read_only" for call, _ in self._done)

    def _may_have_begun(self, call: HandlerCall) -> bool:
        return call.no in self._before or (call.no == 1 and self._claim.ask.lost > 0)

    def _keep(self, receipts: Sequence[Receipt]) -> None:
        held = self._record.keep(self._claim, receipts)
        if held is None:
            raise Ending
        if not held:
            raise ClaimLost
        self._done.clear()

    def _receipts(self) -> list[Receipt]:
        """Of all calls that have ended since the last writing; the last one knows what they have changed."""
        last = len(self._done) - 1
        return [self._receipt(call, value, last=at == last) for at, (call, value) in enumerate(self._done)]

    def _receipt(self, call: HandlerCall, value: Any, *, last: bool) -> Receipt:
        state, record = self._served.changes() if last else (None, None)
        result = _result(value, owners_in(self._served.registry))
        if ends := self._served.unknown_ends(value):
            result["ends"] = ends
        return Receipt(
            call_no=call.no,
            tool=call.tool,
            status="done",
            key=call.key,
            effect=call.effect,
            arguments=_arguments(call),
            result=result,
            state=state,
            record=record,
        )

    def _value(self, result: Json) -> Any:
        self._served.check_ends(result.get("ends", {}))
        value = decode_value(result.get("value"), self._served.registry)
        if isinstance(value, ChatDocument):
            value._find_parent = self._find
        if "text" not in result:
            return value
        # As the handler's own value would have been taken, which JSON knows in another form.
        document = self._served.agent.create_agent_response(result["text"], content_any=value)
        document.metadata.tainted = bool(result.get("person"))
        return document


def begun(call: HandlerCall) -> Receipt:
    """That the call is about to be made."""
    return Receipt(
        call_no=call.no,
        tool=call.tool,
        status="begun",
        key=call.key,
        effect=call.effect,
        arguments=_arguments(call),
    )


def parking(call: HandlerCall, worker: str | None = None, error: RaisedError | None = None) -> Parking:
    """A person has to say what became of the call, which `worker` has made just now, and which ended with `error`."""
    return Parking(reason="unknown_outcome", call=begun(call), worker=worker, error=error)


def _may_be_tried_again(call: HandlerCall) -> bool:
    return call.arguments is not None and call.arguments.private_default("_retry") is not None


def _arguments(call: HandlerCall) -> Json | None:
    """The tool as people are shown it; None where its handler has put something into it that is no JSON."""
    try:
        return encode_tool(call.arguments) if call.arguments is not None else None
    except TypeError:
        return None


def as_result(value: Any) -> Json | None:
    """Return what a person says that a handler has returned, JSON-able; it is tainted, as all that comes from
    outside.
    """
    if value is None:
        return None
    return {"value": encode_value(value, "the result"), "text": value_as_text(value), "person": True}


def _result(value: Any, owners: Owners) -> Json:
    """A handler's value as JSON; of one that JSON cannot express, its text is kept, which is what is said of it."""
    if value is None or isinstance(value, (str, ChatDocument, ToolMessage)):
        return {"value": encode_value(value, "a handler's result", owners)}
    text = value_as_text(value)
    try:
        return {"value": encode_value(value, "a handler's result", owners), "text": text}
    except TypeError:
        return {"value": text}
