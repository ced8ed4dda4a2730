"""The run that a message answers: one of the same conversation that waits for its user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from turnwise.base.waits import HumanWait
from turnwise.errors import ConflictError
from turnwise.messages.given_history import GivenMessage, conversation_name
from turnwise.messages.signals import DONE
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import RunStatus
from turnwise.record.values.records import RunFilter, RunRecord
from turnwise_gateway.openai_door.conversation import GivenConversation
from turnwise_gateway.openai_door.exchange import AskedQuestion, questions

# Runs that are read at once.
_PAGE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredRun:
    """A run and the question that a message answers; with `replays` the same message has answered it before."""

    run: RunRecord
    question: AskedQuestion
    replays: bool = False


def waiting_in_session(record: TenantRole, session_id: str, task: str) -> AnsweredRun | None:
    """The run of the session that waits for its user, None if there is none.

    Raises `ConflictError` if it is of another task: no run could begin before it is answered.
    """
    asking = list(_asking(record, RunFilter(session_id=session_id, status=RunStatus.WAITING)))
    own = next((run for run in asking if run.task == task), None)
    if own is None and asking:
        raise ConflictError(
            f"in the session {session_id!r} the run {asking[0].id} of {asking[0].task!r} waits for an answer; send it "
            f"to the model {asking[0].task!r}, or cancel the run",
            code="session_waits",
        )
    asked = [] if own is None else list(questions(record, own.id))
    return AnsweredRun(run=own, question=asked[-1]) if own is not None and asked else None


def waiting_in_conversation(
    record: TenantRole, conversation: GivenConversation, task: str, user: str | None
) -> AnsweredRun | None:
    """The run that has held the conversation from its first message on, and whose question the last one answers.

    The texts alone tell conversations apart. Of runs that fit, the one whose questions make up most of the assistant's
    messages is taken, and of equal ones the one that has waited longest.
    """
    behind = conversation.behind_beginnings(task, user)
    if not behind:
        return None
    filters = RunFilter(status=RunStatus.WAITING, task=task, conversations=tuple(behind))
    best: tuple[tuple[int, float, str], AnsweredRun] | None = None
    for run in _asking(record, filters):
        said = behind[conversation_name(run.message)]
        asked = _open_question(record, run, said)
        if asked is None:
            continue
        question, length = asked
        rank = (-length, question.at, run.id)
        if best is None or rank < best[0]:
            best = rank, AnsweredRun(run=run, question=question)
    return None if best is None else best[1]


def _asking(record: TenantRole, filters: RunFilter) -> Iterator[RunRecord]:
    """The runs that wait for their user, newest first."""
    cursor: str | None = None
    while True:
        found, cursor = record.runs(filters, cursor, _PAGE)
        yield from (run for run in found if isinstance(run.waiting_for, HumanWait))
        if cursor is None:
            return


def _open_question(
    record: TenantRole, run: RunRecord, said: Sequence[GivenMessage]
) -> tuple[AskedQuestion, int] | None:
    """The run's open question and the length of all its questions; None unless `said` is what was asked and answered.

    `said` begins and ends with a message of the assistant.
    """
    most = len(said) // 2 + 1
    # A question that was passed on is asked again, or is settled without the user.
    told = (question for question in questions(record, run.id) if question.answer is not None or not question.answered)
    asked = list(islice(told, most + 1))
    if len(said) != 2 * most - 1 or len(asked) != most or asked[-1].answered:
        return None
    fits = all(
        message.role == "assistant" and _shows(message.content, question.text)
        for message, question in zip(said[::2], asked, strict=True)
    ) and all(
        message.role == "user" and question.was_answered_with(message.content)
        for message, question in zip(said[1::2], asked, strict=False)
    )
    return (asked[-1], sum(len(_plain(question.text)) for question in asked)) if fits else None


def _shows(said: str, question: str) -> bool:
    """Return whether what the user was shown ends with the question; a stream shows more before it."""
    whole, end = _plain(said), _plain(question)
    return whole == end or whole.endswith(f" {end}")


def _plain(text: str) -> str:
    return " ".join(text.replace(DONE, "").split())
