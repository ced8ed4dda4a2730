"""A run in this process: the machine's asks are direct calls, its counts a counter in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING, Any

from turnwise.agents.asked import asked_handlers, asked_human, asked_model, said
from turnwise.agents.history.history import between, first_incoming
from turnwise.agents.human.answer_display import WATCHING
from turnwise.agents.observed import answering
from turnwise.agents.tools.handler_calls import RUNNING, HandlerCalls, inner_calls
from turnwise.base.call_context import CallContext, current_call
from turnwise.base.cancellation import CANCELLATION, Cancellation, Cause
from turnwise.base.ids import new_id
from turnwise.base.sync_async import AWAITED, Effect, Steps, breath
from turnwise.errors import CallCancelledError, LimitReachedError
from turnwise.machine import stack
from turnwise.machine.actions import (
    Answer,
    Answered,
    Ask,
    Clear,
    Count,
    Counts,
    CutBack,
    Edit,
    Finish,
    Look,
    Pause,
    Refused,
    Reset,
    TakeBack,
    Trace,
    TraceKind,
)
from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.stack import StackMove
from turnwise.machine.state import AGENT, LLM
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.signals import PREFIXES
from turnwise.messages.stop_reason import StopReason, by_refusal, limit_of
from turnwise.messages.toolset import AgentFacts
from turnwise.models.budget.gate import GATE
from turnwise.models.budget.purse import Purse
from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.spans import listened
from turnwise.tasks.callbacks import tell_tasks
from turnwise.tasks.overrides import TaskOverrides
from turnwise.tasks.tally import Tally
from turnwise.tasks.tree import TaskTree

if TYPE_CHECKING:
    from turnwise.transcripts.run_log import RunLog

# So long, or for so many answers, a run may keep an event loop to itself, an answer in progress apart. To look around
# at each turn costs a tenth of it.
_BREATH_SECONDS, _BREATH_ANSWERS = 0.005, 5
# Kinds of traces whose document is the last one of its task's conversation.
_TO_GO_ON_FROM: frozenset[TraceKind] = frozenset(("started", "taken", "null", "finished"))
# Kinds of traces whose document may be an answer of the model that stays in its history alone.
_ASIDE: frozenset[TraceKind] = frozenset(("rejected", "passed"))


@dataclass
class LocalRun:
    """One call of `Task.run`: what it has used so far, and whether it was told to stop. Costs in USD, time in s."""

    tree: TaskTree
    overrides: TaskOverrides | None
    max_turns: int
    # Name of the task that called the root, if one did from outside of this run.
    caller: str | None = None
    max_cost: Decimal = Decimal(0)
    max_tokens: int = 0
    max_time: float = 0
    # Cancels the call that is being made, and says why the run has to end.
    cancellation: Cancellation = field(default_factory=Cancellation)
    log: RunLog | None = None
    # Paths of tasks with a `log_message` of their own, which are told of messages even if no log is kept.
    own_logs: frozenset[str] = frozenset()
    tallies: dict[int, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Whether it is driven within an event loop; known once it is.
        self.awaited = False
        # The context that this run was last driven in, and that of its calls in there.
        self._outer: CallContext | None = None
        self._inner = CallContext()
        # When the event loop's other coroutines ran last, as far as this run knows, and how many answers ago.
        self._breathed, self._unbroken = monotonic(), 0
        # Why a call was not made, if that is what ended the run.
        self._refused: LimitReachedError | None = None
        self.purse = Purse(max_cost=self.max_cost, max_tokens=self.max_tokens)
        for agent in self.tree.agents.values():
            if agent.toolbox.sets.takes_back:
                agent.history.keep_documents()

    @property
    def afresh(self) -> bool:
        """Return whether the root begins with empty histories."""
        root = self.tree.root
        return root.restart if self.caller is None else root.restart_as_subtask

    def drive(self, message: ChatDocument | None, turns: int, *, said_before: bool = False) -> Steps[StackMove]:
        """Hold the conversation until the root finishes, and keep its log where there is one; returns the last move.

        `said_before`: the message is the last one of the root's history.
        """
        # No generators that only hand on: each is one more object for the collector while the run waits.
        if self.log is None:
            return self._begun(message, turns, said_before)
        return self._logged(self.log, message, turns, said_before)

    def _logged(self, log: RunLog, message: ChatDocument | None, turns: int, said_before: bool) -> Steps[StackMove]:
        with log:
            move = yield from self._begun(message, turns, said_before)
            log.ended(move.action)
            return move

    def _begun(self, message: ChatDocument | None, turns: int, said_before: bool) -> Steps[StackMove]:
        root = self.tree.root
        move = stack.start(root, message, self.facts(), turns=turns, caller=self.caller, said_before=said_before)
        return self.carry(root, move)

    def carry(self, root: TaskSpec, move: StackMove, sub_turns: int = -1) -> Steps[StackMove]:
        """Continue from `move` until `root` finishes, or pauses between two steps.

        `sub_turns` bounds sub-tasks that begin meanwhile and have no bound of their own.
        """
        self.awaited = yield AWAITED
        while True:
            self._take(move)
            action, frames, frame, last_frame = move.action, move.stack, move.frame, move.last_frame
            if isinstance(action, (Finish, Pause)):
                return move
            # A reference would keep the move, or the answer before it, in memory while the run waits.
            del move
            answer: Answer
            if isinstance(action, Count):
                tally = self._tally(frame)
                tally.add(action.hash)
                answer = Counts(tally.commonest(action.n))
            else:
                try:
                    value = yield from self.asking(action)
                    if self.cancellation.late:
                        self._discard(action, value)
                except (LimitReachedError, CallCancelledError) as error:
                    known = self._unanswered(error)
                    if known is None:
                        raise
                    answer = known
                else:
                    answer = Answered(self.received(action, value))
                    del value
            move = stack.receive(root, frames, answer, self.facts(), last_frame=last_frame, sub_turns=sub_turns)
            del answer

    def _take(self, move: StackMove) -> None:
        """Do what a move says beside its action."""
        for edit in move.edits:
            self._edit(edit)
        for item in move.trace:
            self._observe(item)
        for frame, count in move.counts:
            self._tally(frame).add(count.hash)
        if len(self.tallies) > len(move.stack):
            live = {frame.no for frame in move.stack}
            self.tallies = {no: tally for no, tally in self.tallies.items() if no in live}

    def _discard(self, ask: Ask, late: Any) -> None:
        """Raise that the run was ended, or a run around it, before this answer came; it is in no history.

        A responder that no one can interrupt has answered all the same. A served run discards its reply, too.
        """
        if ask.responder == LLM and isinstance(late, ChatDocument):
            agent = self.tree.tasks[ask.path].agent
            if [message.chat_document_id for message in agent.message_history[-1:]] == [late.metadata.id]:
                agent.clear_history(-1)
        self.cancellation.check()

    def _unanswered(self, error: LimitReachedError | CallCancelledError) -> Answer | None:
        """Return what an error of a call says to the machine; None for an error that the run does not answer for."""
        if isinstance(error, LimitReachedError):
            if error.purse is not self.purse:  # a limit of a run around this one, which ends with it
                return None
            self._refused = error
            return Refused(error.limit)
        # Otherwise of a run around this one, or of one answer alone.
        return Look() if error.origin is self.cancellation else None

    def facts(self) -> Facts:
        """The run and its agents as they are now."""
        known: dict[str, AgentFacts] = {}
        cause = self.cancellation.cause

        def agent(key: str) -> AgentFacts:
            # No agent changes while a move is made, and a move asks a dozen times.
            facts = known.get(key)
            if facts is None:
                facts = known[key] = self.tree.agents[key].facts()
            return facts

        return Facts(
            agent=agent,
            new_id=_new_document_id,
            cost=self.purse.cost,
            tokens=self.purse.tokens,
            max_cost=self.max_cost,
            max_tokens=self.max_tokens,
            max_turns=self.max_turns,
            killed=cause is Cause.KILLED,
            out_of_time=cause is Cause.DEADLINE,
            overrides=self.overrides,
        )

    def stop_reason(self, finish: Finish, turns: int) -> StopReason | None:
        """The limit that the run ended with; `turns` are those that it was given, -1 for none."""
        limit = limit_of(finish.status)
        if limit is None or (limit == "turns" and turns < 0):  # a task of a single round has come to its own end
            return None
        if self._refused is not None and self._refused.limit == limit:
            return by_refusal(self._refused)
        values: dict[str, tuple[Decimal | float, Decimal | float | None]] = {
            "cost": (self.max_cost, self.purse.cost),
            "tokens": (self.max_tokens, self.purse.tokens),
            "turns": (turns, None),
            "max_turns": (self.max_turns, None),
            "time": (self.max_time, None),
            "stalled_steps": (self.tree.root.max_stalled_steps, None),
        }
        value, used = values[limit]
        return StopReason(limit=limit, value=value or None, used=used)

    def asking(self, ask: Ask) -> Steps[Any]:
        """Return what the asked entity says; the run pays for every model called meanwhile, whoever calls it."""
        cancellation = self.cancellation
        if self.awaited:
            self._unbroken += 1
            if self._unbroken >= _BREATH_ANSWERS or monotonic() - self._breathed > _BREATH_SECONDS:
                # Models and handlers may all be synchronous, and others have to run, such as who wants to end this run.
                yield _BREATH
                self._breathed, self._unbroken = monotonic(), 0
        call = self._call(ask)
        block = cancellation.opened(call) if self.awaited else cancellation.open(call)
        if ask.responder in (AGENT, LLM) and listened(names.AGENT_DURATION):
            more = {names.TASK: ask.path, names.TURN: ask.turn}
            with answering(self.tree.tasks[ask.path].agent, ask.responder.lower(), more), block:
                return (yield from self._response(ask, call))
        with block:
            return (yield from self._response(ask, call))

    def _response(self, ask: Ask, call: CallContext) -> Steps[Any]:
        agent = self.tree.tasks[ask.path].agent
        if ask.responder == AGENT:
            return asked_handlers(agent, ask.message)
        return asked_model(agent, ask.message, call) if ask.responder == LLM else asked_human(agent, ask.message)

    def _call(self, ask: Ask) -> CallContext:
        """Return the context of the answer, within that of the caller of this run."""
        outer = current_call()
        if outer is not self._outer:
            self._outer = outer
            inner = outer.but(GATE, self.purse).but(CANCELLATION, self.cancellation)
            # The runs around one within a handler read its answers too.
            inner = inner.but(PREFIXES, outer[PREFIXES] | self.tree.root.prefixes)
            self._inner = HandlerCalls().within(inner)
        # Calls of handlers are numbered anew for each answer only within a handler, whose keys stay the same.
        call = self._inner if outer[RUNNING] is None else inner_calls(outer).within(self._inner)
        # The log shows the model's answer while it is written.
        watcher = self.log.live(ask.path) if self.log is not None and ask.responder == LLM else None
        return call if watcher is None else call.but(WATCHING, (self.tree.tasks[ask.path].agent, watcher))

    def received(self, ask: Ask, value: Any) -> ChatDocument | None:
        """An answer as the machine takes it; an application's own responder may return any value."""
        if value is None:
            return None
        if isinstance(value, ChatDocument):  # as nearly always; to look up the entity takes longer than the rest
            return value.as_answer_to(ask.message)
        return said(self.tree.tasks[ask.path].agent, Entity(ask.responder), value, ask.message)

    def _tally(self, frame: int) -> Tally:
        tally = self.tallies.get(frame)
        if tally is None:
            tally = self.tallies[frame] = Tally()
        return tally

    def _edit(self, edit: Edit) -> None:
        agent = self.tree.agents[edit.agent]
        if isinstance(edit, Reset):
            agent.init_state()
        elif isinstance(edit, Clear):
            agent.clear_history(0)
        elif isinstance(edit, CutBack):
            messages = agent.message_history
            first = first_incoming(edit.start, next(iter(messages[1:2]), None))
            dropped = between(messages.__getitem__, first, len(messages) - 1)
            del messages[dropped.start : dropped.stop]
        elif isinstance(edit, TakeBack):
            told = (message.chat_document_id in edit.documents for message in agent.message_history)
            index = next((i for i, is_one in enumerate(told) if is_one), None)
            if index is not None:
                agent.clear_history(index)

    def _observe(self, item: Trace) -> None:
        if item.kind in ("started", "finished"):
            tell_tasks(self.tree.tasks, item)
        if item.document is not None:
            if item.kind in _TO_GO_ON_FROM:
                self.tree.tasks[item.path].agent.history.ends_with(item.document)
            elif item.kind in _ASIDE:
                self.tree.tasks[item.path].agent.history.comes_from(item.document)
            if item.parent is not None:
                item.parent.answered_by(item.document)
        if self.log is None:
            if item.path in self.own_logs:
                self._log_message(item)
        else:
            self.log.about(item, lambda: self._log_message(item))
        if item.kind == "taken" and item.parent is not None:
            # Answered: it stays as someone's parent, and thousands of them should not be more than they have to.
            item.parent.forget_findings()

    def _log_message(self, item: Trace) -> None:
        """Tell the task of the message, if that is what happened."""
        task = self.tree.tasks[item.path]
        if item.kind == "started":
            if item.document is not None:
                task.log_message(Entity.USER, item.document)
        elif item.kind in ("taken", "passed", "rejected", "null"):
            responder = Entity.named(item.responder) or task.sub_task_named(item.responder)
            assert responder is not None, f"no one of task {item.path!r} is called {item.responder!r}"
            task.log_message(responder, item.document, mark=item.kind != "rejected")


def _no_breath() -> None:
    """Nothing waits for a run that blocks."""


_BREATH = Effect(sync=_no_breath, awaited=breath)


def _new_document_id() -> str:
    return new_id("doc")
