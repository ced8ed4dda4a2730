"""The two moves of one task.

A step (a *turn*) asks the responders in order until one gives a valid answer; that answer becomes the pending
message. After each step the task may be done. `start` makes the first move of a task; `receive` goes on with what a
responder answered. Both run until somebody outside has to act: a responder to ask, counts to tell, or the end.

A move works on a `_Work`, a scratch copy of the state; the state that it was given is never changed.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from turnwise.constants import NO_ANSWER, PASS
from turnwise.core.actions import (
    Action,
    Answer,
    Ask,
    Clear,
    Count,
    Counts,
    CutBack,
    Edit,
    Finish,
    Look,
    Move,
    Refused,
    Reset,
    Trace,
)
from turnwise.core.done import answer_is_done, answer_valid, task_done
from turnwise.core.facts import Facts
from turnwise.core.loops import is_loop, message_hash
from turnwise.core.responders import (
    ENTITIES,
    candidates,
    handler_is_silent,
    known_recipient,
    may_answer,
    model_may_answer,
)
from turnwise.core.result import task_result
from turnwise.core.routing import read_route
from turnwise.core.spec import TaskSpec
from turnwise.core.state import AGENT, LLM, USER, TaskState
from turnwise.entity import Entity, StatusCode
from turnwise.messages.document import ChatDocMetaData, ChatDocument
from turnwise.messages.finding import attach_tools, tool_attempt
from turnwise.messages.human import human_answer
from turnwise.tools.orchestration import AgentDoneTool, DoneTool

_FIELDS = tuple(f.name for f in fields(TaskState))


def start(
    spec: TaskSpec, message: ChatDocument | None, facts: Facts, *, caller: str | None = None, turns: int = -1
) -> Move:
    """Begin the task with a first message (None: its model begins). `caller` is the calling task's name."""
    is_root = caller is None
    afresh = (is_root and spec.restart) or (not is_root and spec.restart_as_subtask)
    edits: list[Edit] = [Reset(key) for key in spec.agents()] if afresh else []
    state = TaskState(
        caller=caller,
        turns=turns if turns > 0 else spec.turns,
        pending=message,
        history_start=0 if afresh else facts.agent(spec.agent).history_len,
    )
    if message is not None:
        attach_tools(message, facts.agent(spec.agent))
    work = _Work(spec, state, facts, edits)
    work.trace.append(Trace("started", spec.path, 0, document=message))
    return work.move(work.begin_step())


def receive(spec: TaskSpec, state: TaskState, answer: Answer, facts: Facts) -> Move:
    """Go on with what was answered to the last action; raises `ValueError` if it answers nothing that was asked."""
    if state.counting != isinstance(answer, Counts):
        expected = "the counts that were asked for" if state.counting else f"an answer of {state.awaiting or 'nobody'}"
        raise ValueError(f"task {spec.path!r} waits for {expected}, but was given a {type(answer).__name__}")
    work = _Work(spec, state, facts, [])
    if isinstance(answer, Counts):
        return work.move(work.counted(answer))
    if isinstance(answer, Refused):
        return work.move(work.refuse(answer))
    if isinstance(answer, Look):
        return work.move(work.look())
    return work.move(work.answered(state.awaiting, answer.document))


class _Work:
    """The state of a task while a move is made, and what the move has decided so far."""

    # The fields of TaskState; declared for the type checker.
    caller: str | None
    turns: int
    turn: int
    pending: ChatDocument | None
    pending_sender: str
    last_asked: str
    stalled: int
    candidates: tuple[str, ...]
    cursor: int
    no_answer: ChatDocument | None
    no_answer_from: str
    answer_done: bool
    counting: bool
    refused: str
    taken: int
    hashes: tuple[str, ...]
    last_no_answer_turn: int
    alternations: int
    sequences: tuple[int, ...]
    sequenced: str
    history_start: int

    def __init__(self, spec: TaskSpec, state: TaskState, facts: Facts, edits: list[Edit]) -> None:
        self.spec = spec
        self.facts = facts
        self.edits = edits
        self.trace: list[Trace] = []
        for name in _FIELDS:
            setattr(self, name, getattr(state, name))

    def frozen(self) -> TaskState:
        values: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        return TaskState(**values)

    def move(self, action: Action) -> Move:
        return Move(self.frozen(), action, tuple(self.edits), tuple(self.trace))

    # --- the rules that an application may override ---

    def done(self, doc: ChatDocument | None = None, responder: str | None = None) -> tuple[bool, StatusCode]:
        if self.facts.overrides is not None:
            own = self.facts.overrides.done(self.spec, self.frozen(), self.facts, doc, responder)
            if own is not None:
                return own
        return task_done(self.spec, self, self.facts, doc, responder)  # type: ignore[arg-type]

    def valid(self, doc: ChatDocument | None, responder: str) -> bool:
        if self.facts.overrides is not None:
            own = self.facts.overrides.valid(self.spec, self.frozen(), self.facts, doc, responder)
            if own is not None:
                return own
        if doc is not None and self.done(doc, responder)[0]:
            return True
        return answer_valid(self.spec, doc)

    def result(self, status: StatusCode) -> ChatDocument | None:
        if self.facts.overrides is not None:
            own = self.facts.overrides.result(self.spec, self.frozen(), self.facts, status)
            if own is not None:
                return own[0]
        return task_result(self.spec, self.frozen(), self.facts, status)

    # --- a step ---

    def begin_step(self) -> Action:
        self.answer_done, self.no_answer, self.no_answer_from = False, None, ""
        if self.pending is not None and not known_recipient(self.spec, self.pending.metadata.recipient):
            self.candidates, self.cursor = (AGENT,), 0
            wrong = self._made(Entity.AGENT, f"Invalid recipient: {self.pending.metadata.recipient}")
            wrong.metadata.tainted = self.pending.metadata.tainted
            return self.take(AGENT, wrong)
        self.candidates = candidates(self.spec, self.pending, self.last_asked, self.facts)
        self.cursor = 0
        return self.search()

    def search(self) -> Action:
        """Ask the next responder who may answer; answer for those who certainly have nothing to say."""
        while self.cursor < len(self.candidates):
            if self.facts.killed or self.facts.out_of_time:
                break
            responder = self.candidates[self.cursor]
            if not may_answer(self.spec, responder, self.pending, self.pending_sender, self.facts):
                self.cursor += 1
                continue
            self.last_asked = responder
            known, answer = self._known_answer(responder)
            if not known:
                return Ask(self.spec.path, responder, self.pending, self.turn, self.cursor)
            valid = self._judge(responder, answer)
            if valid is not None:
                return self.take(responder, valid)
            if self.answer_done:
                break
            self.cursor += 1
        return self.no_valid_answer()

    def _known_answer(self, responder: str) -> tuple[bool, ChatDocument | None]:
        """Whether the answer is certain without asking, and what it is."""
        agent = self.facts.agent(self.spec.agent)
        if responder == AGENT:
            return handler_is_silent(agent, self.pending), None
        if responder == LLM:
            return not model_may_answer(agent, self.pending), None
        if responder == USER and self.spec.default_human_response is not None:
            return True, human_answer(
                self.spec.default_human_response,
                self.pending,
                default=self.spec.default_human_response,
                open_calls=agent.open_calls,
                new_id=self.facts.new_id(),
            )
        return False, None

    def answered(self, responder: str, doc: ChatDocument | None) -> Action:
        valid = self._judge(responder, doc)
        if valid is not None:
            return self.take(responder, valid)
        if self.answer_done:
            return self.no_valid_answer()
        self.cursor += 1
        return self.search()

    def _judge(self, responder: str, doc: ChatDocument | None) -> ChatDocument | None:
        """The answer with its signals followed, if it is valid; else None."""
        agent = self.facts.agent(self.spec.agent)
        if doc is not None:
            if responder == LLM:
                attach_tools(doc, agent)
            doc = self._routed(doc)
            if NO_ANSWER in doc.content:
                self.no_answer, self.no_answer_from = doc, responder
        self.answer_done = answer_is_done(self.spec, doc, responder, agent)
        if doc is not None and self.valid(doc, responder):
            return doc
        if doc is not None:
            self.trace.append(Trace("rejected", self.spec.path, self.turn, responder, doc, self.pending))
        return None

    def _routed(self, doc: ChatDocument) -> ChatDocument:
        """Follow a signal in the answer's text; a named pass moves the pending message's recipient."""
        if not self.spec.recognize_string_signals:
            return doc
        attempt = tool_attempt(doc, self.facts.agent(self.spec.agent))
        route = read_route(doc.content, self.spec.addressing_prefix, only_at_start=attempt)
        if route is None or (route.is_pass and not route.recipient):
            return doc
        if route.is_pass:
            if self.pending is not None:
                self._replace_pending().metadata.recipient = route.recipient
                if PASS not in doc.content:
                    doc.content = PASS
            return doc
        doc.content = route.text
        doc.metadata.recipient = route.recipient
        return doc

    def take(self, responder: str, doc: ChatDocument) -> Action:
        """Make the answer the pending message, or hand the old one on if the answer is a pass."""
        parent = self.pending
        passed = self.spec.recognize_string_signals and PASS in doc.content
        if parent is not None:
            doc.answers(parent)
        kind = "passed" if passed else "taken"
        self.trace.append(Trace(kind, self.spec.path, self.turn, responder, doc, parent))
        if passed:
            self.stalled += 1
        else:
            self.stalled = 0
            attach_tools(doc, self.facts.agent(self.spec.agent))
            self.pending = doc
            self.pending_sender = doc.metadata.sender.value if responder in ENTITIES else responder
            self._without_done_tools()
        return self.end_step(doc)

    def _without_done_tools(self) -> None:
        """In an interactive root that only the human may end, done tools of others are taken off."""
        doc, spec = self.pending, self.spec
        if doc is None or self.caller is not None or not (spec.interactive and spec.only_user_quits_root):
            return
        if doc.tool_messages and (self.answer_done or self.done()[0]):
            kept = [t for t in doc.tool_messages if not isinstance(t, (DoneTool, AgentDoneTool))]
            if len(kept) != len(doc.tool_messages):
                self._replace_pending().tool_messages = kept

    def no_valid_answer(self) -> Action:
        if (kept := self.no_answer) is not None:
            # It may be part of the state that was given, which taking it must not change.
            self.no_answer = kept.model_copy(update={"metadata": kept.metadata.model_copy()})
            return self.take(self.no_answer_from, self.no_answer)
        self.stalled += 1
        self.trace.append(Trace("none", self.spec.path, self.turn))
        if self.spec.allow_null_result:
            sender = Entity.LLM if self.pending_sender == USER else Entity.USER
            stand_in = self._made(sender, NO_ANSWER)
            if self.pending is not None:
                stand_in.answers(self.pending)
                stand_in.metadata.tainted = self.pending.metadata.tainted
            self.trace.append(Trace("null", self.spec.path, self.turn, sender.value, stand_in, self.pending))
            self.pending, self.pending_sender = stand_in, sender.value
            self._watch_no_answer(stand_in)
        return self.end_step(None)

    # --- after a step ---

    def end_step(self, taken: ChatDocument | None) -> Action:
        over, status = self.done()
        self._sequence()
        if over:
            return self.finish(status)
        self.turn += 1
        if self.facts.out_of_time:
            return self.finish(StatusCode.TIMEOUT)
        if self.turns > 0 and self.turn >= self.turns and not 0 < self.facts.max_turns <= self.turn:
            return self.finish(StatusCode.FIXED_TURNS)
        if 0 < self.facts.max_turns <= self.turn:
            return self.finish(StatusCode.MAX_TURNS)
        if taken is None:
            return self.after_counting(())
        return self._count(taken)

    def _sequence(self) -> None:
        """Let the done-sequences see a message that became pending in this step."""
        doc = self.pending
        if not self.spec.sequences or doc is None or doc.metadata.id == self.sequenced:
            return
        agent = self.facts.agent(self.spec.agent)
        before = self.sequences or (0,) * len(self.spec.sequences)
        self.sequences = tuple(
            sequence.advance(bits, doc, None, agent) for sequence, bits in zip(self.spec.sequences, before, strict=True)
        )
        self.sequenced = doc.metadata.id

    def _count(self, taken: ChatDocument) -> Action:
        spec = self.spec
        self.taken += 1
        self._watch_no_answer(taken)
        if spec.inf_loop_cycle_len <= 0 or self.pending is None:
            return self.after_counting(())
        key = message_hash(self.pending, self.facts.agent(spec.agent))
        keep = spec.inf_loop_cycle_len * spec.inf_loop_wait_factor
        self.hashes = (*self.hashes, key)[-keep:]
        due = self.turn % spec.inf_loop_cycle_len == 0
        self.counting = True
        return Count(spec.path, key, spec.inf_loop_cycle_len + 1 if due else 0)

    def _watch_no_answer(self, taken: ChatDocument) -> None:
        """Count answers with NO_ANSWER that come exactly two steps after the last such one."""
        if NO_ANSWER not in taken.content:
            return
        self.alternations = self.alternations + 1 if self.turn - self.last_no_answer_turn == 2 else 0
        self.last_no_answer_turn = self.turn

    def counted(self, counts: Counts) -> Action:
        self.counting = False
        return self.after_counting(counts.commonest)

    def after_counting(self, commonest: tuple[tuple[str, int], ...]) -> Action:
        spec = self.spec
        due = spec.inf_loop_cycle_len > 0 and self.turn % spec.inf_loop_cycle_len == 0
        looping = (
            due
            and bool(commonest)
            and is_loop(
                commonest,
                self.hashes,
                total=self.taken,
                cycle_len=spec.inf_loop_cycle_len,
                dominance=spec.inf_loop_dominance_factor,
                wait_factor=spec.inf_loop_wait_factor,
            )
        )
        if looping:
            return self.finish(StatusCode.INF_LOOP, loop="the same messages are taken again and again")
        if self.alternations > spec.inf_loop_wait_factor:
            return self.finish(StatusCode.INF_LOOP, loop=f"every other answer is {NO_ANSWER}")
        return self.begin_step()

    def finish(self, status: StatusCode, loop: str = "") -> Finish:
        self.candidates, self.cursor = (), 0
        result = self.result(status)
        self.trace.append(Trace("finished", self.spec.path, self.turn, status.value, result, self.pending, status))
        if status is not StatusCode.INF_LOOP and self.spec.erase_substeps:
            self.edits.append(CutBack(self.spec.agent, self.history_start))
            self.edits.extend(Clear(sub.agent) for sub in self.spec.sub_tasks)
        return Finish(self.spec.path, result, status, loop)

    def _replace_pending(self) -> ChatDocument:
        """Put a copy in the pending message's place, to be changed: the original has been seen as it was."""
        assert self.pending is not None
        copy = ChatDocument.deepcopy(self.pending)
        copy.metadata.id = self.facts.new_id()
        copy.metadata.child_id = ""
        if self.sequenced == self.pending.metadata.id:
            self.sequenced = copy.metadata.id
        if self.pending._parent is not None:
            copy._parent = self.pending._parent
        self.pending = copy
        return copy

    # --- what else a driver may tell ---

    def refuse(self, answer: Refused) -> Action:
        """A call was refused: the step ends without that answer, and the task with the limit's status."""
        self.refused = answer.limit
        return self.finish(StatusCode.MAX_COST if answer.limit == "cost" else StatusCode.MAX_TOKENS)

    def look(self) -> Action:
        if self.facts.killed:
            return self.finish(StatusCode.KILL)
        if self.facts.out_of_time:
            return self.finish(StatusCode.TIMEOUT)
        return Ask(self.spec.path, self.awaiting, self.pending, self.turn, self.cursor)

    @property
    def awaiting(self) -> str:
        return self.candidates[self.cursor] if self.cursor < len(self.candidates) else ""

    def _made(self, sender: Entity, content: str) -> ChatDocument:
        """A document that the machine itself brings in."""
        return ChatDocument(
            content=content,
            metadata=ChatDocMetaData(id=self.facts.new_id(), source=sender, sender=sender),
        )
