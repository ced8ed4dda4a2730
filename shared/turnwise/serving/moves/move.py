"""A move of a served run: the machine's next decision, written down in one transaction.

The driver of the machine where the record is a database. It reads what was answered, lets the machine decide until
someone outside has to act, and leaves events, documents, frames and the next ask in the transaction. It decides
nothing itself.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from decimal import Decimal

from turnwise.agents.global_state import GlobalStateKept
from turnwise.app import App
from turnwise.base.ids import new_id
from turnwise.base.process_end import ends_process
from turnwise.base.waits import PauseWait, ResponderWait, SessionWait
from turnwise.bus.routing import COORDINATOR_QUEUE, queue_for
from turnwise.errors import (
    AttributeNotSavedError,
    DatabaseUnavailableError,
    NewerStateError,
    RunChangedError,
    SchemaVersionError,
)
from turnwise.machine import stack
from turnwise.machine.actions import Answer, Answered, Ask, Count, Counts, Edit, Finish, Look, Refused, Trace
from turnwise.machine.facts import Facts
from turnwise.machine.loops import loop_message
from turnwise.machine.stack import Stack, StackMove
from turnwise.machine.state import LLM, USER, document_ids, dump_state, load_state
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.messages.given_history import history_of
from turnwise.messages.toolset import AgentFacts
from turnwise.models.base import LLMMessage
from turnwise.record.database.faults import DATABASE_ERRORS
from turnwise.record.events.event import EventPlace
from turnwise.record.events.run_events import RunEnded
from turnwise.record.events.usage_events import limit_reached
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import KeptError, RaisedError, RunError
from turnwise.serving.attempts.served_agent import facts_of
from turnwise.serving.moves.carrier import Carrier
from turnwise.serving.moves.history_edits import apply_edit
from turnwise.serving.moves.moved import Moved
from turnwise.serving.moves.next_ask import AskWriter, NextAsk
from turnwise.serving.moves.pausing import hold_if_paused
from turnwise.serving.moves.run_documents import RunDocuments
from turnwise.serving.moves.run_end import error_record, no_provider, run_status
from turnwise.serving.moves.served_tasks import ServedTasks
from turnwise.serving.moves.traces import traced
from turnwise.serving.moves.versions import end_for_others, end_undecided, explained, hold_for_newer, taken_over
from turnwise.serving.observer import NO_OBSERVERS, Observer
from turnwise.tasks.entry import last_said
from turnwise.tasks.tree import TaskTree

logger = logging.getLogger(__name__)

# After them the move is made again. Whatever else is away is something that a rule of the application has asked.
_OF_RECORD = (DatabaseUnavailableError, RunChangedError, SchemaVersionError)


@dataclass(frozen=True, kw_only=True)
class Mover:
    """Makes moves for the runs of one application; the mappings dedicate queues to agents, as in the settings.

    `pinned`: runs that began with another version of it are left alone.
    """

    app: App
    llm_queues: dict[str, str]
    agent_queues: dict[str, str]
    max_attempts: int = 5
    pinned: bool = False
    observers: Observer = NO_OBSERVERS

    def move(self, tx: RunTransaction, carrier: Carrier | None = None) -> Moved:
        """Make the run's next move, if there is something to continue; commits nothing itself.

        The next ask is the `carrier`'s if it takes it.

        An error of the application's own rules, or of its factory, ends the run with ERROR and is on record. Errors of
        the database propagate: the move is made again when it is back.
        """
        if tx.run.ended:
            return Moved(run=tx.run)
        is_new, due, waited_for = tx.run.started_at is None, tx.run.move_due_at, tx.run.waiting_for
        beginning = _Beginning(self.observers, tx)
        moved = self._moved(tx, beginning, carrier)
        if beginning.told:
            self.observers.move_made(moved.run)
        tx.mark()
        moved = moved._replace(
            began=is_new and moved.run.started_at is not None,
            at=tx.now,
            late=max(0.0, tx.now - due) if due is not None else None,
            queue=(isinstance(waited_for, ResponderWait) and waited_for.queue) or COORDINATOR_QUEUE,
        )
        return moved._replace(ended=True, next_run=tx.run_after()) if moved.run.ended else moved

    def _moved(self, tx: RunTransaction, beginning: _Beginning, carrier: Carrier | None) -> Moved:
        if self.pinned and tx.run.version != self.app.version:
            end_for_others(tx)
            return Moved(run=tx.run)
        if tx.run.started_at is None and (before := tx.run_before()) is not None:
            wait_for_session(tx, before)
            return Moved(run=tx.run)
        if tx.run.started_at is None and hold_if_paused(tx):
            return Moved(run=tx.run)
        try:
            tree = self.app.tree(tx.run.task)
            return _Move(self, tx, tree, beginning, carrier).make()
        except NewerStateError as error:
            hold_for_newer(tx, error)
            return Moved(run=tx.run)
        except _OF_RECORD:
            raise
        except BaseException as error:  # an application's override may raise anything; it is recorded
            # It may have a database of its own.
            if ends_process(error) or (isinstance(error, DATABASE_ERRORS) and not tx.is_intact):
                raise
            logger.exception("The application of run %s failed", tx.run.id, extra={"action": "application_failed"})
            beginning.tell()
            record = error_record(error, place="move")
            if isinstance(error, AttributeNotSavedError):
                record = replace(record, code=error.code)
            fail(tx, explained(record, tx.run, self.app))
        return Moved(run=tx.run)


def fail(tx: RunTransaction, error: RunError) -> None:
    """End the run with an error on record."""
    for frame in reversed(tx.frames()):
        tx.pop_frame(frame.no)
    status = StatusCode.ERROR.value
    tx.finish(RunStatus.FAILED, status, error=error)
    tx.event(RunEnded(ended=RunStatus.FAILED, status=status, error=error))


def wait_for_session(tx: RunTransaction, before: str) -> None:
    """Let a run of a session wait until the run before it has ended.

    If it is to end it does so here, because the conversation is still the other's.
    """
    if tx.run.cancel_requested_at is not None:
        end_undecided(tx, StatusCode.KILL)
    elif out_of_time(tx):
        end_undecided(tx, StatusCode.TIMEOUT)
    else:
        tx.change(waiting_for=SessionWait(run=before), move_due_at=None)


def out_of_time(tx: RunTransaction) -> bool:
    """Return whether the run's deadline has passed."""
    return tx.run.deadline_at is not None and tx.now >= tx.run.deadline_at


class _Beginning:
    """The moment at which it turns out that there is a move to make; observers are told once."""

    def __init__(self, observers: Observer, tx: RunTransaction) -> None:
        self._observers, self._tx = observers, tx
        self.told = False

    def tell(self) -> None:
        if not self.told:
            self.told = True
            self._observers.move_began(self._tx)


class _Move:
    """One move: what was read, and what the machine has decided so far."""

    def __init__(
        self, mover: Mover, tx: RunTransaction, tree: TaskTree, beginning: _Beginning, carrier: Carrier | None
    ) -> None:
        self.mover = mover
        self.carrier = carrier
        self.tx = tx
        self.beginning = beginning
        self.tree = tree
        self.registry = tree.registry()
        self.documents = RunDocuments(tx, self.registry)
        self.agents: dict[str, AgentFacts] = {}
        self.tasks = ServedTasks(tx, tree, self.registry, self.documents)
        self.shared = GlobalStateKept()
        self.trace: list[Trace] = []
        # Why a call was not made, where that is what was answered.
        self.refusal: KeptError | None = None
        # Why the run could not begin at once, until its first event tells of it.
        self.waited_for: SessionWait | PauseWait | None = None

    def make(self) -> Moved:
        with self.shared:
            return self._made()

    def _made(self) -> Moved:
        tx = self.tx
        move = self._first() if tx.run.started_at is None else self._next()
        if move is None:
            tx.change(move_due_at=None)
            return Moved(run=tx.run)
        if tx.run.ended:
            return Moved(run=tx.run)
        self._take_in(move)
        while isinstance(move.action, Count):
            counts = tx.count(move.frame, move.action.hash, move.action.n)
            move = self._receive(move.stack, Counts(tuple(counts)), move.last_frame)
            self._take_in(move)
        # Before the run may end: the application's rules have all been asked.
        self.shared.check()
        self._save_stack(move.stack)
        following = None
        if isinstance(move.action, Finish):
            self._finish(move.action)
        elif isinstance(move.action, Ask):
            following = self._next_ask(move.frame, move.action)
        self.documents.save()
        trace = tuple(self.trace)
        if following is None:
            return Moved(run=tx.run, trace=trace)
        claim, ask = following.claim(self.documents), following.envelope(self.documents)
        return Moved(run=tx.run, trace=trace, claim=claim, ask=ask)

    def _next_ask(self, frame: int, ask: Ask) -> NextAsk:
        mover, tx = self.mover, self.tx
        version = taken_over(tx.run, mover.app)
        writer = AskWriter(tx=tx, tree=self.tree, version=version, max_attempts=mover.max_attempts)
        if ask.responder == USER:
            return writer.to_human(frame, ask)
        agent = self.tree.agents[self.tree.root.at(ask.path).agent].config.name
        queue = queue_for("llm" if ask.responder == LLM else "agent", agent, mover.llm_queues, mover.agent_queues)
        holder = self.carrier.worker_id if self.carrier is not None and self.carrier.takes(tx, queue) else None
        return writer.to_queue(frame, ask, queue, holder)

    # --- what to continue ---

    def _first(self) -> StackMove:
        run = self.tx.run
        self.beginning.tell()
        if not self.tree.root.restart:
            self.tx.take_up_conversation()
        message = self.documents.decode(run.message) if run.message else self._last_said()
        if isinstance(run.waiting_for, SessionWait | PauseWait):
            self.waited_for = run.waiting_for
        self.tx.change(status=RunStatus.RUNNING, started_at=self.tx.now)
        return stack.start(
            self.tree.root,
            message,
            self._facts(),
            turns=run.turns or -1,
            said_before=not run.message,
            history=history_of(run.message),
        )

    def _last_said(self) -> ChatDocument | None:
        """Return what a run without a message continues from, as `Task.run` does: the last message of its
        conversation.
        """
        root = self.tree.root
        length = 0 if root.restart else self.tx.agent(root.agent).history_len
        if not length:
            return None
        row = self.tx.history_row(root.agent, length - 1)
        return last_said(LLMMessage.model_validate(row.body))

    def _next(self) -> StackMove | None:
        answer = self._answer()
        if answer is None:
            return None
        frames = self.tx.frames()
        self.documents.load([state_id for frame in frames for state_id in document_ids(frame.state)])
        current = tuple(stack.Frame(frame.no, frame.path, load_state(frame.state, self.documents)) for frame in frames)
        return self._receive(current, answer, self.tx.run.last_frame)

    def _receive(self, current: Stack, answer: Answer, last_frame: int) -> StackMove:
        return stack.receive(self.tree.root, current, answer, self._facts(), last_frame=last_frame)

    def _answer(self) -> Answer | None:
        """Return what was answered to the awaited ask; `Look` if the run was cancelled or is out of time.

        None to wait, and for an error, which has then ended the run.
        """
        tx = self.tx
        reply = tx.reply()
        if reply is not None:
            self.beginning.tell()
            if reply.kind == "error":
                fail(tx, reply.error or KeptError(found={}))
                return None
            if reply.kind == "refused":
                self.refusal = reply.error or KeptError(found={})
                return Refused(self.refusal.found["limit"])
            document = self.documents.find(reply.document_id) if reply.document_id else None
            return Answered(document)
        if tx.run.cancel_requested_at is not None or out_of_time(tx):
            self.beginning.tell()
            if tx.run.awaiting:
                tx.close_ask(tx.run.awaiting, AskStatus.CANCELLED)
            return Look()
        return None

    def _facts(self) -> Facts:
        run = self.tx.run
        return Facts(
            agent=self._agent,
            new_id=lambda: new_id("doc"),
            cost=run.cost,
            tokens=run.prompt_tokens + run.completion_tokens,
            max_cost=run.max_cost or Decimal(0),
            max_tokens=run.max_tokens or 0,
            max_turns=run.max_turns or 0,
            killed=run.cancel_requested_at is not None,
            out_of_time=out_of_time(self.tx),
            overrides=self.tasks.overrides,
        )

    def _agent(self, key: str) -> AgentFacts:
        facts = self.agents.get(key)
        if facts is None:
            facts = self.agents[key] = facts_of(self.tree.agents[key], self.tx.agent(key), self.registry)
        return facts

    # --- what was decided ---

    def _take_in(self, move: StackMove) -> None:
        for frame, count in move.counts:
            self.tx.count(frame, count.hash, count.n)
        # Before the edits, as in one process: the tasks' own rules were asked to decide on them.
        for key in self.tasks.save():
            self.agents.pop(key, None)
        for edit in move.edits:
            self._edit(edit)
        for item in move.trace:
            self._event(item)
        self.trace.extend(move.trace)

    def _edit(self, edit: Edit) -> None:
        apply_edit(self.tx, edit, self.tree.agents[edit.agent], self.registry)
        self.agents.pop(edit.agent, None)

    def _event(self, item: Trace) -> None:
        if item.document is not None:
            self.documents.put(item.document)
        if item.parent is not None:
            # A message that a pass addressed anew may be answered in the move that made it.
            self.documents.put_if_new(item.parent)
        self.tx.event(traced(item, self.waited_for), EventPlace(path=item.path, turn=item.turn))
        if item.kind == "started":
            self.waited_for = None

    def _save_stack(self, new: Stack) -> None:
        old = {frame.no: frame for frame in self.tx.frames()}
        for frame in new:
            state, documents = dump_state(frame.state)
            for document in documents:
                self.documents.put(document)
            if frame.no not in old:
                self.tx.push_frame(frame.path, state, frame.no)
            elif old[frame.no].state != state:
                self.tx.save_frame(frame.no, state)
        kept = {frame.no for frame in new}
        for no in sorted(old, reverse=True):
            if no not in kept:
                self.tx.pop_frame(no)

    def _finish(self, finish: Finish) -> None:
        status = run_status(finish.status)
        document: str | None = None
        result = None
        if finish.result is not None:
            self.documents.put(finish.result)
            document = finish.result.metadata.id
            result = self.documents.body(document)
        error: RunError | None = None
        if finish.status is StatusCode.INF_LOOP:
            message = loop_message(finish.path, finish.loop)
            error = RaisedError(type="InfiniteLoopException", message=message)
        if finish.status is StatusCode.TIMEOUT and (away := no_provider(self.tx)) is not None:
            error = away
        if finish.status in (StatusCode.MAX_COST, StatusCode.MAX_TOKENS):
            limit = "cost" if finish.status is StatusCode.MAX_COST else "tokens"
            self.tx.event(limit_reached(limit, self.refusal), EventPlace(path=finish.path))
        self.tx.finish(status, finish.status.value, result=result, error=error)
        told = RunEnded(ended=status, status=finish.status.value, document=document, error=error)
        self.tx.event(told, EventPlace(path=finish.path))
