"""The statuses of runs and asks, and the transitions between them.

The tables below are the only source. Writers check each change of a status with `passed`, statements that change many
rows take their source states from here, the database's CHECK constraints hold the same values, and the diagrams in
docs/architecture.md are drawn from them (`python -m tests.support.state_diagrams`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple, TypeVar

from turnwise.errors import IllegalTransitionError


class RunStatus(StrEnum):
    """The status of a run; `completed`, `failed` and `cancelled` are final, but a failed run may be retried."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AskStatus(StrEnum):
    """The status of an ask; `open` is a question to a human, `parked` an ask that a person has to decide on."""

    RUNNABLE = "runnable"
    LEASED = "leased"
    OPEN = "open"
    PARKED = "parked"
    ANSWERED = "answered"
    CANCELLED = "cancelled"


class Transition(NamedTuple):
    """A change of a status that is allowed; `source` is None where a row begins."""

    source: RunStatus | AskStatus | None
    target: RunStatus | AskStatus
    reason: str


Status = TypeVar("Status", RunStatus, AskStatus)
# Whoever an ask is to: a model, the handlers of an agent, or a human.
ResponderKind = Literal["llm", "agent", "user"]

# In the order of the enum, because the conditions of partial indexes repeat it.
UNFINISHED = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)
FINISHED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
UNANSWERED = (AskStatus.RUNNABLE, AskStatus.LEASED, AskStatus.OPEN, AskStatus.PARKED)

# Transitions of rows, from commit to commit: a first move may begin a run and end it.
RUN_TRANSITIONS = (
    Transition(None, RunStatus.QUEUED, "submitted"),
    Transition(None, RunStatus.RUNNING, "made again for a replay"),
    Transition(RunStatus.QUEUED, RunStatus.RUNNING, "the first move begins it, or a fork takes up its past"),
    Transition(RunStatus.QUEUED, RunStatus.WAITING, "the first move asks a human, or a fork does"),
    Transition(RunStatus.QUEUED, RunStatus.COMPLETED, "the first move ends it with a result"),
    Transition(RunStatus.QUEUED, RunStatus.FAILED, "the first move fails, or the deadline passes"),
    Transition(RunStatus.QUEUED, RunStatus.CANCELLED, "cancelled before it began"),
    Transition(RunStatus.RUNNING, RunStatus.RUNNING, "a move asks the next responder"),
    Transition(RunStatus.RUNNING, RunStatus.WAITING, "a human is asked, or the ask is deferred or parked"),
    Transition(RunStatus.RUNNING, RunStatus.COMPLETED, "a move ends it with a result"),
    Transition(RunStatus.RUNNING, RunStatus.FAILED, "a move fails, or a limit of time or of steps is reached"),
    Transition(RunStatus.RUNNING, RunStatus.CANCELLED, "cancelled"),
    Transition(RunStatus.WAITING, RunStatus.RUNNING, "the wait is over: answered, claimed or resolved"),
    Transition(RunStatus.WAITING, RunStatus.WAITING, "the next human is asked, or the ask is parked"),
    Transition(RunStatus.WAITING, RunStatus.COMPLETED, "the answer ends it with a result"),
    Transition(RunStatus.WAITING, RunStatus.FAILED, "a move fails, or the deadline passes"),
    Transition(RunStatus.WAITING, RunStatus.CANCELLED, "cancelled"),
    Transition(RunStatus.FAILED, RunStatus.QUEUED, "retried, and it had not begun"),
    Transition(RunStatus.FAILED, RunStatus.RUNNING, "retried"),
    Transition(RunStatus.FAILED, RunStatus.WAITING, "retried, and a human is asked again"),
)
ASK_TRANSITIONS = (
    Transition(None, AskStatus.RUNNABLE, "a move asks a model or an agent"),
    Transition(None, AskStatus.OPEN, "a move asks a human"),
    Transition(None, AskStatus.ANSWERED, "copied into a fork with its answer"),
    Transition(AskStatus.RUNNABLE, AskStatus.LEASED, "claimed by a worker"),
    Transition(AskStatus.RUNNABLE, AskStatus.CANCELLED, "the run ends"),
    Transition(AskStatus.LEASED, AskStatus.RUNNABLE, "released, deferred, or its lease expired"),
    Transition(AskStatus.LEASED, AskStatus.ANSWERED, "the worker's reply is accepted"),
    Transition(AskStatus.LEASED, AskStatus.PARKED, "its outcome is uncertain, or its attempts are used up"),
    Transition(AskStatus.LEASED, AskStatus.CANCELLED, "the run ends"),
    Transition(AskStatus.OPEN, AskStatus.ANSWERED, "a human answers"),
    Transition(AskStatus.OPEN, AskStatus.CANCELLED, "the run ends"),
    Transition(AskStatus.PARKED, AskStatus.RUNNABLE, "a person lets it go on"),
    Transition(AskStatus.PARKED, AskStatus.ANSWERED, "a person lets it fail"),
    Transition(AskStatus.PARKED, AskStatus.CANCELLED, "the run ends"),
    Transition(AskStatus.ANSWERED, AskStatus.RUNNABLE, "its answer was an error, and the run is retried"),
    Transition(AskStatus.CANCELLED, AskStatus.RUNNABLE, "the run is retried"),
    Transition(AskStatus.CANCELLED, AskStatus.OPEN, "the run is retried, and the human is asked again"),
)

_KINDS = {RunStatus: "run", AskStatus: "ask"}
# By kind, because a member of one enum equals the same word of the other.
_LEGAL = {
    RunStatus: frozenset((each.source, each.target) for each in RUN_TRANSITIONS),
    AskStatus: frozenset((each.source, each.target) for each in ASK_TRANSITIONS),
}


def passed(source: Status | None, target: Status) -> Status:
    """Return `target` if a row may go there from `source` (None: the row begins); raise `IllegalTransitionError`."""
    kind = type(target)
    if (source, target) not in _LEGAL[kind]:
        what = _KINDS[kind]
        allowed = ", ".join(one for one in kind if (source, one) in _LEGAL[kind]) or "none"
        found = f"begin as {target}" if source is None else f"go from {source} to {target}"
        raise IllegalTransitionError(
            f"{'an' if what == 'ask' else 'a'} {what} cannot {found}; allowed: {allowed}. Read the row again under its "
            "run's lock, or add the transition to turnwise.record.states"
        )
    return target


def status_of_new_ask(responder: ResponderKind) -> AskStatus:
    """Return the status in which an ask of `responder` begins, or begins again."""
    return AskStatus.OPEN if responder == "user" else AskStatus.RUNNABLE


def status_while_asked(responder: ResponderKind) -> RunStatus:
    """Return the status of a run whose new ask is one of `responder`."""
    return RunStatus.WAITING if responder == "user" else RunStatus.RUNNING


def sources(target: Status) -> tuple[Status, ...]:
    """Return the states from which a row may go to `target`, in the order of the enum."""
    kind = type(target)
    return tuple(one for one in kind if (one, target) in _LEGAL[kind])


def all_passed(froms: Iterable[Status], target: Status) -> tuple[Status, ...]:
    """Return the states `froms` if rows may go to `target` from each of them; raise `IllegalTransitionError`."""
    found = tuple(froms)
    for source in found:
        passed(source, target)
    return found
