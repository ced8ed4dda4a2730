"""A task with its sub-tasks: one machine per call, on a stack.

The task at the top is the one whose responder is being asked. Asking a sub-task puts its machine on the stack; when
it finishes, its result is the answer to the machine below. A driver only ever sees asks of entities, counts, and the
end of the root.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from turnwise.machine import machine
from turnwise.machine.actions import Action, Answer, Answered, Ask, Count, Edit, Finish, Move, Refused, Trace
from turnwise.machine.facts import Facts
from turnwise.machine.responders import ENTITIES
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.api_results import assign_results
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.given_history import GivenMessage


class Frame(NamedTuple):
    """One call of a task: its number within the run (never used twice), its path in the tree, and its state."""

    no: int
    path: str
    state: TaskState


Stack = tuple[Frame, ...]


class StackMove(NamedTuple):
    """The new stack (empty once the root finished), and what `Move` says of all machines that moved.

    `frame` is the number of the frame that the action is about, `state` its task's state, `last_frame` the highest
    number given so far. `counts` have the numbers of the frames that they are for; they come before the action.
    """

    stack: Stack
    action: Action
    frame: int
    state: TaskState
    last_frame: int
    edits: tuple[Edit, ...]
    trace: tuple[Trace, ...]
    counts: tuple[tuple[int, Count], ...]


def start(
    root: TaskSpec,
    message: ChatDocument | None,
    facts: Facts,
    *,
    turns: int = -1,
    caller: str | None = None,
    stepwise: bool = False,
    said_before: bool = False,
    history: tuple[GivenMessage, ...] = (),
) -> StackMove:
    """Begin a run of the root task; `caller` names a task outside of this stack that called it.

    With `stepwise` the root pauses before each of its steps. `said_before` and `history`: see `machine.start`.
    """
    first = machine.start(
        root,
        message,
        facts,
        caller=caller,
        turns=turns,
        stepwise=stepwise,
        said_before=said_before,
        history=history,
    )
    return _settle(root, (), 1, 1, first, facts)


def receive(
    root: TaskSpec, stack: Stack, answer: Answer, facts: Facts, *, last_frame: int, sub_turns: int = -1
) -> StackMove:
    """Continue with the answer to the last action; raises `ValueError` if nothing was asked.

    `last_frame` is that of the move before. `sub_turns` bounds the steps of a sub-task that begins now and has no
    bound of its own.
    """
    if not stack:
        raise ValueError(f"the run of {root.name!r} has ended, or has not begun; nothing was asked")
    top = stack[-1]
    move = machine.receive(root.at(top.path), top.state, answer, facts)
    return _settle(root, stack[:-1], top.no, last_frame, move, facts, sub_turns)


def _settle(
    root: TaskSpec, below: Stack, no: int, last_frame: int, move: Move, facts: Facts, sub_turns: int = -1
) -> StackMove:
    """Push and pop until someone outside has to act."""
    edits, trace, counts = move.edits, move.trace, _numbered(no, move.counts)
    returned = False
    while True:
        action = move.action
        if isinstance(action, Ask) and action.responder not in ENTITIES:
            caller = root.at(action.path)
            below = (*below, Frame(no, action.path, move.state))
            forbidden = _too_many_calls(caller, action.message, facts)
            if forbidden is not None:
                below, move = below[:-1], machine.receive(caller, move.state, Answered(forbidden), facts)
            else:
                sub = caller.sub_task(action.responder)
                assert sub is not None, f"{caller.path!r} asked {action.responder!r}, which is no sub-task of it"
                message = as_sub_task_sees(action.message, facts) if action.message is not None else None
                last_frame += 1
                no = last_frame
                turns = sub.turns if sub.turns > 0 else sub_turns
                move = machine.start(sub, message, facts, caller=caller.name, turns=turns)
        # LOOP-5
        elif isinstance(action, Finish) and below and action.status is not StatusCode.INF_LOOP:
            returned = True
            caller_frame, below = below[-1], below[:-1]
            no = caller_frame.no
            caller = root.at(caller_frame.path)
            refused = move.state.refused
            answer: Answer = (
                Refused(refused) if refused else Answered(as_answer(caller, caller_frame.state, action.result, facts))
            )
            if refused and action.result is not None:
                # The root's result is the pending message of the task that was refused.
                caller_frame = caller_frame._replace(state=_with_pending(caller_frame.state, action.result))
            move = machine.receive(caller, caller_frame.state, answer, facts)
        else:
            stack = () if isinstance(action, Finish) else (*below, Frame(no, action.path, move.state))
            told = _as_taken(trace) if returned else trace
            return StackMove(stack, action, no, move.state, last_frame, edits, told, counts)
        edits += move.edits
        trace += move.trace
        counts += _numbered(no, move.counts)


def _numbered(no: int, counts: tuple[Count, ...]) -> tuple[tuple[int, Count], ...]:
    """Return the counts of a move with the number of the frame that they are for."""
    return tuple([(no, count) for count in counts]) if counts else ()


def _as_taken(trace: tuple[Trace, ...]) -> tuple[Trace, ...]:
    """Show the results of sub-tasks as their callers took them in: a document of one id looks the same everywhere."""
    last = {item.document.metadata.id: item.document for item in trace if item.document is not None}
    return tuple(
        item._replace(document=last[item.document.metadata.id])
        if item.kind == "finished" and item.document is not None
        else item
        for item in trace
    )


def as_sub_task_sees(message: ChatDocument, facts: Facts) -> ChatDocument:
    """The caller's message as a sub-task sees it: a copy from its own USER, with tools, files and marks."""
    copy = ChatDocument.deepcopy(message, facts.new_id())
    as_from_user(copy, message)
    return copy


def as_from_user(copy: ChatDocument, message: ChatDocument) -> None:
    """Relabel a copy of a caller's message; what its model said stays trusted as that."""
    # TASK-5, TRUST-12
    copy.metadata.sender = Entity.USER
    if message.metadata.sender == Entity.LLM:
        copy.metadata.tools_from_agent = True
    copy.answers(message)


def as_answer(caller: TaskSpec, state: TaskState, result: ChatDocument | None, facts: Facts) -> ChatDocument | None:
    """A sub-task's result as an answer in its caller: matched to the open API calls of the caller's agent."""
    # RESULT-8
    if result is None or state.pending is None:
        return result
    # CALL-2
    return assign_results(result, state.pending, facts.agent(caller.agent).open_calls)


def _too_many_calls(caller: TaskSpec, message: ChatDocument | None, facts: Facts) -> ChatDocument | None:
    """The answer given in a sub-task's place when several API calls at once are not allowed there."""
    if message is None or caller.allow_subtask_multi_oai_tools:
        return None
    agent = facts.agent(caller.agent)
    if len(agent.open_calls) < 2 or len(message.oai_tool_calls or ()) < 2:
        return None
    # CALL-11
    text = "ERROR: Use ONE tool at a time!"
    return ChatDocument(
        content="",
        oai_tool_id2result={call.id or "": text for call in agent.open_calls},
        metadata=ChatDocMetaData(id=facts.new_id(), sender=Entity.USER),
    )


def _with_pending(state: TaskState, doc: ChatDocument) -> TaskState:
    return replace(state, pending=doc)
