"""The two moves of one task.

A step (a *turn*) asks the responders in order until one gives a valid answer; that answer becomes the pending
message. After each step the task may be done. `start` makes the first move of a task; `receive` continues with what a
responder answered. Both run until someone outside has to act: a responder to ask, counts to tell, or the end.

A move changes nothing that it is given. It works on a scratch copy of the state (`work.py`), and on copies of the
documents that it links, marks or readdresses; those keep their ids, and share what is not changed. The steps are in
`step.py`, what follows them in `after_step.py`.
"""

from __future__ import annotations

from turnwise.machine.actions import (
    Answer,
    Answered,
    Counts,
    Edit,
    Look,
    Move,
    Pause,
    Refused,
    Reset,
    Seed,
    Trace,
)
from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import USER, TaskState
from turnwise.machine.step import Step
from turnwise.messages.document import ChatDocument
from turnwise.messages.given_history import GivenMessage
from turnwise.messages.tool_parsing import with_tools


def start(
    spec: TaskSpec,
    message: ChatDocument | None,
    facts: Facts,
    *,
    caller: str | None = None,
    turns: int = -1,
    stepwise: bool = False,
    said_before: bool = False,
    history: tuple[GivenMessage, ...] = (),
) -> Move:
    """Begin the task with a first message (None: its model begins). `caller` is the calling task's name.

    `said_before`: the message is the last one of the agent's history, so who said it does not answer it now.
    `history` was said before the message, elsewhere: the agent's begins with it, unless it has one of its own.
    With `stepwise` it pauses before each step, the first one too.
    """
    if message is not None:
        message = with_tools(message, facts.agent(spec.agent))
    is_root = caller is None
    # HIST-1, HIST-3, HIST-4
    afresh = (is_root and spec.restart) or (not is_root and spec.restart_as_subtask)
    edits: list[Edit] = [Reset(key) for key in spec.agents()] if afresh else []
    known = 0 if afresh else facts.agent(spec.agent).history_len
    if history and not known:
        edits.append(Seed(spec.agent, history))
        known = 1 + len(history)  # with the system message
    state = TaskState(
        caller=caller,
        stepwise=stepwise,
        turns=turns if turns > 0 else spec.turns,
        pending=message,
        pending_sender=message.metadata.sender.value if said_before and message is not None else USER,
        history_start=known,
    )
    work = Step(spec, state, facts, edits)
    work.trace.append(Trace("started", spec.path, 0, document=message))
    return work.move(Pause(spec.path) if stepwise else work.begin_step())


def default_reply(spec: TaskSpec, state: TaskState, facts: Facts) -> ChatDocument | None:
    """Return what the task's `default_human_response` says to the pending message."""
    return Step(spec, state, facts, []).default_reply()


def follow(
    spec: TaskSpec, state: TaskState, responder: str, document: ChatDocument | None, facts: Facts
) -> tuple[ChatDocument | None, TaskState]:
    """An answer with the signals in its text followed, and the state after them; the answer is not taken."""
    work = Step(spec, state, facts, [])
    return (work.followed(responder, document) if document is not None else None), work.frozen()


def receive(spec: TaskSpec, state: TaskState, answer: Answer, facts: Facts) -> Move:
    """Continue with what was answered to the last action; raises `ValueError` if it answers nothing that was asked."""
    if state.counting != isinstance(answer, Counts):
        expected = "the counts that were asked for" if state.counting else f"an answer of {state.awaiting or 'no one'}"
        raise ValueError(f"task {spec.path!r} waits for {expected}, but was given a {type(answer).__name__}")
    work = Step(spec, state, facts, [])
    if isinstance(answer, Answered):
        return work.move(work.answered(state.awaiting, answer.document))
    if isinstance(answer, Counts):
        return work.move(work.counted(answer))
    if isinstance(answer, Refused):
        return work.move(work.refuse(answer))
    if isinstance(answer, Look):
        return work.move(work.look())
    if state.awaiting or not state.stepwise:
        raise ValueError(f"task {spec.path!r} does not stand between two steps")
    return work.move(work.begin_step())
