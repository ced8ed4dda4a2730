"""The run that a message answers: one of the same conversation that waits for its user."""

from __future__ import annotations

from turnwise.base.waits import HumanWait
from turnwise.errors import ConflictError
from turnwise.messages.signals import DONE
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.records import EventRecord, RunFilter, RunRecord
from turnwise.record.states import RunStatus
from turnwise_gateway.openai_door.conversation import GivenConversation

_PAGE = 500
_EXCHANGE = ("human.asked", "human.answered")
# Runs of the same conversation that wait at the same time; the newest are looked at.
_MOST = 10
# Where a task asks without a text of its own.
_NO_TEXT = "The task waits for an answer."


def waiting_in_session(record: TenantRole, session_id: str, task: str) -> RunRecord | None:
    """The run of the session that waits for its user, None if there is none.

    Raises `ConflictError` if it is of another task: no run could begin before it is answered.
    """
    found, _ = record.runs(RunFilter(session_id=session_id, status=RunStatus.WAITING), None, _MOST)
    asking = [run for run in found if isinstance(run.waiting_for, HumanWait)]
    own = next((run for run in asking if run.task == task), None)
    if own is None and asking:
        raise ConflictError(
            f"in the session {session_id!r} the run {asking[0].id} of {asking[0].task!r} waits for an answer; send it "
            f"to the model {asking[0].task!r}, or cancel the run",
            code="session_waits",
        )
    return own


def waiting_in_conversation(
    record: TenantRole, conversation: GivenConversation, task: str, user: str | None
) -> RunRecord | None:
    """The run that began with the first messages of the conversation, and whose question the last one answers."""
    names = conversation.names_of_beginnings(task, user)
    if not names:
        return None
    filters = RunFilter(status=RunStatus.WAITING, task=task, conversations=names)
    found, _ = record.runs(filters, None, _MOST)
    return next((run for run in found if _asked(record, run, conversation.asked_last)), None)


def question_of(record: TenantRole, run: RunRecord, after: int = 0) -> str | None:
    """The text of the question that the run waits for, of those asked after event `after`; None if it is answered."""
    if run.status != RunStatus.WAITING or not isinstance(run.waiting_for, HumanWait):
        return None
    told = exchange(record, run.id, after)
    if not told or told[-1].type != "human.asked":
        return None
    return (told[-1].document or {}).get("content") or _NO_TEXT


def exchange(record: TenantRole, run_id: str, after: int = 0) -> list[EventRecord]:
    """The questions to the user of a run, and the answers."""
    told: list[EventRecord] = []
    while page := record.events(run_id, after, _PAGE, types=_EXCHANGE):
        told += page
        after = page[-1].seq
    return told


def _asked(record: TenantRole, run: RunRecord, said: str) -> bool:
    """Return whether the run's question ends what its user was shown last; a stream shows more before it."""
    question = question_of(record, run)
    return question is not None and _plain(said).endswith(_plain(question))


def _plain(text: str) -> str:
    return " ".join(text.replace(DONE, "").split())
