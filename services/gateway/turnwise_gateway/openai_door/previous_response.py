"""The response that a request names as its previous one: a run, as it stood when it gave that response."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from turnwise.errors import ConflictError, NotFoundError
from turnwise.messages.given_history import GivenMessage, history_of
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import RunStatus
from turnwise.record.values.records import RunFilter, RunRecord
from turnwise_gateway.openai_door.exchange import AskedQuestion, first_question, questions
from turnwise_gateway.openai_door.followed_run import FollowedRun
from turnwise_gateway.openai_door.waiting_run import AnsweredRun
from turnwise_gateway.views import text_of_result

_PAGE = 200
# Runs of a session that are read for a branch of it.
_MOST_EARLIER = 1_000
_ID = re.compile(r"(?:resp|chatcmpl)_([A-Za-z0-9_]{1,60})_(\d{1,10})")


def answer_id(kind: str, followed: FollowedRun) -> str:
    """The id of an answer: it names the run, and the event after which the run worked on it."""
    return f"{kind}_{followed.run.id.removeprefix('run_')}_{followed.after}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviousResponse:
    """A response of a run; `question` is the one that it ended with, None if it ended with the run."""

    id: str
    run: RunRecord
    question: AskedQuestion | None

    @classmethod
    def named(cls, record: TenantRole, id: str) -> PreviousResponse:
        """The response of that id; raises `NotFoundError`."""
        found = _ID.fullmatch(id)
        try:
            run = record.run(f"run_{found[1]}" if found else "")
        except NotFoundError:
            run = None
        if found is None or run is None or int(found[2]) > run.last_seq:
            raise NotFoundError(f"there is no response {id[:200]!r}; send the id of one that this server has given")
        return cls(id=id, run=run, question=first_question(record, run.id, int(found[2])))

    @classmethod
    def last_of(cls, run: RunRecord) -> PreviousResponse:
        """The response that a run has ended with."""
        return cls(id=run.id, run=run, question=None)

    def answered_run(self, record: TenantRole, text: str) -> AnsweredRun | None:
        """The question of the response, if the text answers it now or has done so; None if a new run continues.

        Raises `ConflictError` if another answer was faster, or the run has not ended.
        """
        run, question = self.run, self.question
        if question is None or (run.ended and not question.answered):
            if not run.ended:
                raise ConflictError(
                    f"the run {run.id} of the response {self.id} has not ended; wait for it, or cancel it",
                    code="response_in_progress",
                )
            return None
        if not question.answered:
            return AnsweredRun(run=run, question=question)
        if question.was_answered_with(text) and not self._is_lost(record, question):
            return AnsweredRun(run=run, question=question, replays=True)
        if run.ended:
            return None
        raise ConflictError(
            f"the question of the response {self.id} has another answer already, and the run {run.id} has continued; "
            "send the id of the response to that answer, or of a later one",
            code="already_answered",
        )

    def conversation(self, record: TenantRole, *, of_session: bool) -> tuple[GivenMessage, ...]:
        """The conversation as the response left it.

        With `of_session` also what the runs before it have said, where the task keeps a session's conversation; else
        the session has it. Raises `ConflictError` if these are too many.
        """
        earlier = self._earlier(record) if of_session else []
        first = earlier[0] if earlier else self.run
        said = (one.said(record) for one in [*(PreviousResponse.last_of(run) for run in earlier), self])
        return (*history_of(first.message), *itertools.chain.from_iterable(said))

    def _earlier(self, record: TenantRole) -> list[RunRecord]:
        """The runs before it in the conversation of its session, oldest first."""
        run, found, cursor = self.run, list[RunRecord](), None
        if run.conversation_id is None:
            return []
        while True:
            page, cursor = record.runs(RunFilter(session_id=run.session_id, task=run.task), cursor, _PAGE)
            found += [one for one in page if one.id < run.id and one.conversation_id == run.conversation_id]
            if cursor is None:
                return found[::-1]
            if len(found) > _MOST_EARLIER:
                raise ConflictError(
                    f"the response {self.id} has more than {_MOST_EARLIER} runs before it; continue the newest one, or "
                    "fork its run",
                    code="session_too_long",
                )

    def said(self, record: TenantRole) -> list[GivenMessage]:
        """The messages of its run up to the response.

        A response that a run has ended with, and has no result, leaves the conversation as it was before the run.
        """
        run, last = self.run, self.question
        goes_on = last is not None and last.answered
        if not goes_on and run.status != RunStatus.COMPLETED:
            return []
        said = [GivenMessage("user", run.message.get("content", ""))]
        for question in questions(record, run.id):
            said.append(GivenMessage("assistant", question.content))
            if goes_on and last is not None and question.seq == last.seq:
                break
            said.append(GivenMessage("user", question.answer or ""))
        else:
            said.append(GivenMessage("assistant", text_of_result(run)))
        return [message for message in said if message.content.strip()]

    def is_newest(self, record: TenantRole) -> bool:
        """Return whether nothing was said in its session since: else the response is continued apart from it."""
        if self.question is not None and self.question.answered:
            return False
        [newest], _ = record.runs(RunFilter(session_id=self.run.session_id), None, 1)
        return newest.id == self.run.id

    def _is_lost(self, record: TenantRole, question: AskedQuestion) -> bool:
        """Return whether the run was cancelled before it responded to the answer: whoever left asks again."""
        return self.run.status == RunStatus.CANCELLED and first_question(record, self.run.id, question.seq) is None
