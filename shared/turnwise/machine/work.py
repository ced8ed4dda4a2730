"""The state of a task while a move is made: a copy to write on, and what the move has decided so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwise.machine.actions import Action, Count, Edit, Move, Trace
from turnwise.machine.done import answer_valid, task_done
from turnwise.machine.facts import Facts
from turnwise.machine.result import task_result
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity, StatusCode


class Scratch:
    """All fields of `TaskState`, changeable; the state that it was made from is never touched."""

    # Slots for what is no field of a state, so that `vars` of it are the fields and nothing else.
    __slots__ = ("__dict__", "agent", "counts", "edits", "facts", "spec", "trace")

    # The fields of TaskState; declared for the type checker.
    version: int
    caller: str | None
    stepwise: bool
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
    passed: bool
    counting: bool
    refused: str
    taken: int
    hashes: tuple[str, ...]
    last_no_answer_turn: int
    alternations: int
    sequences: tuple[int, ...]
    sequenced: str
    history_start: int
    unknown: Mapping[str, Any]

    def __init__(self, spec: TaskSpec, state: TaskState, facts: Facts, edits: list[Edit]) -> None:
        self.spec = spec
        self.facts = facts
        self.agent = facts.agent(spec.agent)
        self.edits = edits
        self.trace: list[Trace] = []
        self.counts: tuple[Count, ...] = ()
        # A copy of the whole is quicker than an empty one that is filled.
        self.__dict__ = vars(state).copy()

    def frozen(self) -> TaskState:
        state = object.__new__(TaskState)
        # What its constructor would do, field by field: a move is made for every answer, so it counts.
        object.__setattr__(state, "__dict__", vars(self).copy())
        return state

    def move(self, action: Action) -> Move:
        return Move(self.frozen(), action, tuple(self.edits), tuple(self.trace), self.counts)

    def done(self, doc: ChatDocument | None = None, responder: str | None = None) -> tuple[bool, StatusCode]:
        if self.facts.killed:  # no rule of an application's own outlives that
            return True, StatusCode.KILL
        if self.facts.overrides is not None:
            # TASK-7
            own = self.facts.overrides.done(self.spec, self.frozen(), self.facts, doc, responder)
            if own is not None:
                return own
        return task_done(self.spec, self, self.facts, doc, responder)

    def valid(self, doc: ChatDocument | None, responder: str) -> bool:
        if self.facts.overrides is not None:
            own = self.facts.overrides.valid(self.spec, self.frozen(), self.facts, doc, responder)
            if own is not None:
                return own
        elif answer_valid(self.spec, doc):
            return True  # whether it ends the task or not, which takes longer to find out
        # VALID-1
        if doc is not None and self.done(doc, responder)[0]:
            return True
        return answer_valid(self.spec, doc)

    def result(self, status: StatusCode) -> ChatDocument | None:
        if self.facts.overrides is not None:
            own = self.facts.overrides.result(self.spec, self.frozen(), self.facts, status)
            if own is not None:
                return own[0]
        return task_result(self.spec, self.frozen(), self.facts, status)

    @property
    def awaiting(self) -> str:
        return self.candidates[self.cursor] if self.cursor < len(self.candidates) else ""

    def replace_pending(self) -> ChatDocument:
        """Put a copy in the pending message's place, to be changed: the original has been seen as it was."""
        assert self.pending is not None
        copy = ChatDocument.deepcopy(self.pending, self.facts.new_id())
        if self.sequenced == self.pending.metadata.id:
            self.sequenced = copy.metadata.id
        self.pending = copy
        return copy

    def made(self, sender: Entity, content: str) -> ChatDocument:
        """A document that the machine itself brings in."""
        return ChatDocument(
            content=content,
            metadata=ChatDocMetaData(id=self.facts.new_id(), source=sender, sender=sender),
        )
