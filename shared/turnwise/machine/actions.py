"""The input of a move, and its decisions.

What every move takes or makes is a named tuple, which takes a third of the time to make that a frozen dataclass does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.messages.given_history import GivenMessage

# --- what a move is told -----------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """The asked responder's answer; None if it had none."""

    document: ChatDocument | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of messages that this task took: (hash, count) of the commonest, most frequent first."""

    commonest: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The call was not made, because it would have gone over a limit: "cost" or "tokens"."""

    limit: str


@dataclass(frozen=True, slots=True)
class Look:
    """Nothing was answered, but the facts changed: killed, or out of time."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """Make the next step; answers a `Pause`."""


Answer = Answered | Counts | Refused | Look | Proceed

# --- what it decides ---------------------------------------------------------------------------------------------


class Ask(NamedTuple):
    """Ask this responder of the task at `path` to answer `message` (None: the model's own first messages).

    `turn` counts the steps of this call of the task, `candidate` the responders asked in the step.
    """

    path: str
    responder: str
    message: ChatDocument | None
    turn: int
    candidate: int


class Count(NamedTuple):
    """Count `hash` once more for this task, and tell the `n` commonest counts (none for n = 0).

    One of which nothing is told is not the action of a move, but goes with it, in `Move.counts`.
    """

    path: str
    hash: str
    n: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The task ended; `loop` says what repeated itself, for INF_LOOP."""

    path: str
    result: ChatDocument | None
    status: StatusCode
    loop: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A task that is stepped by hand stands between two steps; it does not ask itself whether it is done."""

    path: str


Action = Ask | Count | Finish | Pause

# --- edits of histories ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reset:
    """Begin the agent's conversation afresh: history, open API calls, tool state."""

    agent: str


@dataclass(frozen=True, slots=True)
class CutBack:
    """Drop the agent's messages from index `start`, but keep the last one."""

    agent: str
    start: int


@dataclass(frozen=True, slots=True)
class Clear:
    """Drop all of the agent's history."""

    agent: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Drop the agent's messages from the first one on that came from one of these documents."""

    agent: str
    documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class Seed:
    """Begin the agent's history, which is empty, with messages that were said elsewhere."""

    agent: str
    messages: tuple[GivenMessage, ...]


Edit = Reset | CutBack | Clear | TakeBack | Seed

# --- what happened, for logs and events --------------------------------------------------------------------------


# `rejected`: an answer that was not valid; `null`: a stand-in for a missing answer; `none`: a step without an answer.
TraceKind = Literal["started", "rejected", "taken", "passed", "null", "none", "finished"]


class Trace(NamedTuple):
    """Something an observer may want to know.

    `responder` answered; for started, none and finished it is "". `status` is that of a finished task.
    """

    kind: TraceKind
    path: str
    turn: int
    responder: str = ""
    document: ChatDocument | None = None
    parent: ChatDocument | None = None
    status: StatusCode | None = None


class Move(NamedTuple):
    """A move: the new state, the edits to make first, what to do next, what happened, and what to count meanwhile."""

    state: TaskState
    action: Action
    edits: tuple[Edit, ...] = ()
    trace: tuple[Trace, ...] = ()
    counts: tuple[Count, ...] = ()
