"""One attempt at a claimed ask: the responder's call, and what its end means for the ask."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from turnwise.agents.asked import asked_handlers, asked_model, said
from turnwise.agents.global_state import KEPT, GlobalStateKept
from turnwise.agents.human.terminal import UNATTENDED
from turnwise.agents.retries import RETRIES
from turnwise.agents.tools.handler_calls import Interruption
from turnwise.base.backoff import backoff
from turnwise.base.call_context import CallPart, current_call
from turnwise.base.cancellation import CANCELLATION, Cancellation
from turnwise.base.process_end import ends_process
from turnwise.base.sync_async import run_sync
from turnwise.errors import (
    AttributeNotSavedError,
    CallCancelledError,
    DatabaseUnavailableError,
    LimitReachedError,
    TurnwiseError,
)
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.signals import PREFIXES
from turnwise.messages.stop_reason import by_refusal
from turnwise.messages.tool_registry import owners_in
from turnwise.messages.wire import encode_document
from turnwise.models.budget.gate import GATE
from turnwise.models.budget.wait import CallDeferred
from turnwise.models.retry_policy import kind_of
from turnwise.observability.display import quietly
from turnwise.record.values.kept_errors import RaisedError, RefusedCall
from turnwise.record.values.outcomes import Deferral, Outcome, Parking, Release, Reply
from turnwise.record.values.records import Claim, Json, NewDocument, Usage
from turnwise.serving.attempts.budget_gate import ServedGate
from turnwise.serving.attempts.call_tally import usage_of
from turnwise.serving.attempts.collecting import CallCollected, Collecting
from turnwise.serving.attempts.given_answer import GivenAnswer, answer_as_handlers
from turnwise.serving.attempts.served_agent import ServedAgent
from turnwise.serving.attempts.served_calls import Ending, LeaseLate, OutcomeUnknown, ServedCalls, parking
from turnwise.serving.attempts.served_retries import RetryLater, ServedRetries, deferral
from turnwise.serving.attempts.work_times import Work
from turnwise.serving.moves.run_end import error_record

logger = logging.getLogger(__name__)

_AWAY = "database_away"
# Seconds between two probes at most whether a provider is back. It is one call for all that wait, so it is cheap.
_LONGEST_PROBE_WAIT = 60.0
# Seconds in which no one claims an ask whose reading met an outage again: doubled with each of its claims, up to the
# last. After the first one there is no pause: the database is back, or its release could not be written.
_FIRST_PAUSE, _LAST_PAUSE = 0.5, 10.0


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The parts that answer one claimed ask: a fresh agent, its handlers' calls, its payer, and its cancellation."""

    claim: Claim
    served: ServedAgent
    handlers: ServedCalls
    gate: ServedGate
    cancellation: Cancellation
    work: Work
    collecting: Collecting | None = None
    # Those of the whole tree.
    prefixes: frozenset[str] = frozenset()

    def outcome(self, message: ChatDocument | None) -> Outcome | None:
        """Return what becomes of the ask, with what was used on the way; None if this process has to end without a
        word.
        """
        outcome = self._ended(message)
        if isinstance(outcome, Release | Deferral):
            outcome = self._left(outcome)
        if outcome is None or outcome.work is not None:
            return outcome
        return replace(outcome, usage=self._usage(), calls=self.gate.calls(), work=self.work.told())

    def _ended(self, message: ChatDocument | None) -> Outcome | None:
        try:
            return self._reply(message)
        except Interruption as interruption:
            return self._interrupted(interruption)
        except BaseException as error:
            # Libraries raise errors of their own beside `Exception`, such as the panics of those written in Rust.
            if ends_process(error):
                raise
            return self._cut(error) or self._failed(error)

    def _reply(self, message: ChatDocument | None) -> Reply:
        """The answer, and all that the call has changed."""
        shared = GlobalStateKept()
        value, refused = self._called(message, shared)
        shared.check()
        entity = Entity.LLM if self.claim.ask.responder == "llm" else Entity.AGENT
        document, body = said(self.served.agent, entity, value, message), None
        if document is not None:
            self.served.check_answer(document)
            body = encode_document(document, owners_in(self.served.registry))
        record, state = self.served.record(), self.served.state()
        keep, rows = self.served.history_changes()
        handled = self.served.agent.tools_handled
        return Reply(
            kind="refused" if refused else ("answer" if document is not None else "nothing"),
            error=_refusal(refused) if refused else None,
            document=_new_document(document, body),
            keep_history=keep,
            history=rows,
            record=record,
            state=state,
            tools=tuple(handled),
            usage=self._usage(),
            calls=self.gate.calls(),
            work=self.work.told(),
            in_doubt=self.handlers.unkept,
        )

    def _called(self, message: ChatDocument | None, shared: GlobalStateKept) -> tuple[Any, LimitReachedError | None]:
        """Return what the responder says, or which limit forbids that it is asked."""
        ask, agent, gate = self.claim.ask, self.served.agent, self.gate
        around: dict[CallPart[Any], Any] = {
            GATE: gate,
            RETRIES: ServedRetries(ask, agent.id, gate.on_outage),
            UNATTENDED: True,
            KEPT: shared,
            CANCELLATION: self.cancellation,
            PREFIXES: self.prefixes,
        }
        call = self.handlers.within(current_call().having(around))
        try:
            # A task that a handler runs on the side has no business among a server's lines.
            with quietly(), self.cancellation.open(call):
                if ask.responder == "llm":
                    if ask.given is not None:
                        agent.llm = self.served.model = GivenAnswer(ask.given)
                    elif self.collecting is not None and (batched := self.collecting.answered()) is not None:
                        agent.llm = self.served.model = batched
                    return run_sync(asked_model(agent, message, current_call())), None
                if ask.given is not None:
                    return answer_as_handlers(agent, ask.given, message), None
                return run_sync(asked_handlers(agent, message)), None
        except LimitReachedError as error:
            return None, error
        finally:
            gate.close()

    def _interrupted(self, interruption: Interruption) -> Outcome | None:
        if isinstance(interruption, RetryLater):
            model = self._model() if self.claim.ask.responder == "llm" else None
            line = self.gate.unanswered(partial(_probe_in, interruption)) if interruption.outage else None
            return deferral(interruption, self.claim.ask, self._place, model, line)
        if isinstance(interruption, OutcomeUnknown):
            return self._parked(interruption)
        if isinstance(interruption, LeaseLate):
            return Release(reason="lease_late")
        if isinstance(interruption, Ending):
            return None
        # Kept for the books only, because the ask is another's.
        return Reply(kind="error", error=_taken_over(interruption))

    def _parked(self, unknown: OutcomeUnknown) -> Parking:
        if unknown.error is None:
            return parking(unknown.call)
        kept = self._record_of(unknown.error)
        self._tell(unknown.error, kept)
        return parking(unknown.call, self.claim.worker_id, kept)

    def _cut(self, error: BaseException) -> Release | Deferral | None:
        """Return what becomes of an ask whose call ended by no fault of its own; None if that is not so."""
        if isinstance(error, DatabaseUnavailableError):
            return unread(self.claim, error)
        if isinstance(error, CallDeferred):
            wait = error.wait
            collect = error.request if isinstance(error, CallCollected) else None
            return Deferral(seconds=wait.seconds, waiting_for=wait.waiting_for, provider=wait.provider, collect=collect)
        if isinstance(error, CallCancelledError) and error.origin is self.cancellation:
            assert self.cancellation.cause is not None
            return Release(reason=self.cancellation.cause.value)
        return None

    def _failed(self, error: BaseException) -> Outcome | None:
        """The error for the record: nothing of a failed call lasts but what it cost, and what handlers had done."""
        kept = self._record_of(error)
        if self.claim.ask.responder == "llm" and (kind := kind_of(error)) is not None:
            kept = replace(kept, kind=kind.value, model=self._model(), of_model=True)
        self._tell(error, kept)
        try:
            return Reply(kind="error", error=kept, in_doubt=self._leaves_doubt(error))
        except Interruption as interruption:
            return self._interrupted(interruption)

    def _leaves_doubt(self, error: BaseException) -> bool:
        """Keep the results of handlers that have returned, for a retry of the run.

        Return whether that of one which may not be called twice cannot be kept.
        """
        # Changes outside of the agents, as to a `GlobalState`, are not kept, and a result without them would be wrong.
        if not isinstance(error, AttributeNotSavedError):
            try:
                self.handlers.settle()
            except Exception as refused:  # noqa: BLE001 - values of the application's may refuse with anything
                told = "The results of the handlers of %s cannot be kept: %s"
                logger.warning(told, self.claim.ask.id, refused, extra={"action": "receipts_refused"})
        return self.handlers.unkept

    def _tell(self, error: BaseException, kept: RaisedError) -> None:
        """Write the line of a failure: a model's refusal says all itself, what code has raised needs its traceback."""
        ask, run = self.claim.ask, self.claim.run
        place = {"run": run.id, "task": run.task, "tenant": run.tenant, "ask": ask.id, "path": ask.path}
        extra: Json = place | {"error": f"{kept.type}: {kept.message}"}
        if kept.of_model:
            extra |= {"kind": kept.kind, "model": kept.model}
            logger.error("A model's call of run %s failed", run.id, extra={"action": "call_failed", **extra})
            return
        extra |= {"responder": ask.responder} | ({"tool": kept.tool} if kept.tool is not None else {})
        logger.error("A handler of run %s failed", run.id, extra={"action": "handler_failed", **extra}, exc_info=error)

    def _record_of(self, error: BaseException) -> RaisedError:
        kept = error_record(error, place=self._place, tool=self.served.agent.tool_in_hand)
        return replace(kept, code=error.code) if isinstance(error, TurnwiseError) else kept

    def _left(self, left: Release | Deferral) -> Outcome | None:
        """Keep what handlers have done for another attempt; what may not be called twice is not simply released."""
        settle = self.handlers.defer if isinstance(left, Deferral) else self.handlers.settle
        try:
            settle()
        except Interruption as interruption:
            return self._interrupted(interruption)
        except Exception as error:  # noqa: BLE001 - what the calls returned, or left on the agent, cannot be kept
            return self._failed(error)
        in_doubt = self.handlers.in_doubt
        if in_doubt is None or isinstance(left, Deferral):  # what a handler raised is no doubt
            return left
        if left.reason == _AWAY:
            return parking(in_doubt, self.claim.worker_id)
        return replace(left, in_doubt=True)

    @property
    def _place(self) -> str:
        return f"{self.claim.ask.path}:{self.claim.ask.responder}"

    def _model(self) -> str | None:
        """The name of the agent's model."""
        model = self.served.agent.llm
        return model.config.chat_model or model.config.type if model is not None else None

    def _usage(self) -> Usage | None:
        """Return what was used in this call, by the agent's model or in a handler; None if no model was called."""
        used, agent = self.gate.used, self.served.agent
        if not used.calls:
            return None
        # A handler seldom calls both; where it does, one name has to stand for all.
        other = agent.other_model if self.claim.ask.responder == "agent" else None
        return usage_of(other or self._model() or "", used)


def unread(claim: Claim, error: DatabaseUnavailableError) -> Release:
    """The release of an ask whose reading met an outage.

    Where the database still takes writes, as with a permission that one table lacks, it would be claimed and released
    without end.
    """
    told = "Could not read for %s, it is released: %s"
    logger.warning(told, claim.ask.id, error, extra={"action": "record_unreadable"})
    before = claim.token // 2  # a claim and a release each count the token up
    pause = backoff(before, _FIRST_PAUSE, _LAST_PAUSE) if before else 0.0
    return Release(reason=_AWAY, pause=pause)


def _new_document(document: ChatDocument | None, body: Json | None) -> NewDocument | None:
    if document is None or body is None:
        return None
    return NewDocument(id=document.metadata.id, body=body, parent_id=document.metadata.parent_id or None)


def _probe_in(later: RetryLater, failed: int) -> float:
    """Seconds until someone probes again, after so many failed probes of all."""
    return min(later.failure.outage_wait(failed, later.failure.agent), _LONGEST_PROBE_WAIT)


def _taken_over(interruption: Interruption) -> RaisedError:
    return RaisedError(type=type(interruption).__name__, message="the ask was taken over")


def _refusal(error: LimitReachedError) -> RefusedCall:
    reason = by_refusal(error).as_json()
    told = {name: reason[name] for name in ("limit", "scope", "value", "used", "why")}
    return RefusedCall(type=type(error).__name__, message=str(error), **told)
