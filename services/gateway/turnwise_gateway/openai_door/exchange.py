"""The questions of a run to its user, with their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from turnwise.messages.human import human_answer
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.values.records import EventRecord

_PAGE = 50
_TYPES = ("human.asked", "human.answered")
# Where a task asks without a text of its own.
_NO_TEXT = "The task waits for an answer."


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuestion:
    """A question to the user; `seq` and `at` are of its event, `answer` is None for one that the user passed on.

    `addressed`: the answer named an agent; what stood before its name was taken off.
    """

    seq: int
    at: float
    ask_id: str | None
    content: str
    answered: bool
    answer: str | None
    addressed: bool

    @property
    def text(self) -> str:
        """The text that its user is shown."""
        return self.content or _NO_TEXT

    def was_answered_with(self, text: str) -> bool:
        """Return whether a user's message of this text has answered it."""
        if self.answer is None:
            return False
        kept, answer = _kept(text), self.answer.strip()
        return kept == answer or (self.addressed and kept.endswith(f" {answer}"))


def questions(record: TenantRole, run_id: str, after: int = 0) -> Iterator[AskedQuestion]:
    """The questions that a run has asked after event `after`, oldest first; read page by page."""
    asked: EventRecord | None = None
    more = True
    while more:
        page = record.events(run_id, after, _PAGE, types=_TYPES)
        more = page.more
        for event in page:
            if event.type == "human.asked":
                asked = event
            elif asked is not None:  # else it answers a question that was asked before
                yield _question(asked, event)
                asked = None
            after = event.seq
    if asked is not None:
        yield _question(asked, None)


def first_question(record: TenantRole, run_id: str, after: int) -> AskedQuestion | None:
    """The first question that a run has asked after event `after`, None if it has asked nothing since."""
    return next(questions(record, run_id, after), None)


def _question(asked: EventRecord, answered: EventRecord | None) -> AskedQuestion:
    said = None if answered is None else answered.document
    return AskedQuestion(
        seq=asked.seq,
        at=asked.at,
        ask_id=asked.ask_id,
        content=(asked.document or {}).get("content") or "",
        answered=answered is not None,
        answer=None if said is None else str(said.get("content") or ""),
        addressed=said is not None and bool((said.get("metadata") or {}).get("recipient")),
    )


def _kept(text: str) -> str:
    """The text of a user's answer as the record keeps it."""
    kept = human_answer(text, None)
    return "" if kept is None else kept.content.strip()
