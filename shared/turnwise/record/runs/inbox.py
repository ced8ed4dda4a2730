"""Questions to humans: rows that wait, with no worker behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.asks.parking import PARKED
from turnwise.record.asks.replies import reply_row
from turnwise.record.database.columns import word
from turnwise.record.database.rows import ASK, ask_of
from turnwise.record.database.schema import asks
from turnwise.record.events.ask_events import HumanAnswered
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import TenantPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.list_place import ListPlace, oldest_first
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AgentRecord, AskRecord, Json, NewDocument

_IS_OPEN = asks.c.status == word(AskStatus.OPEN)
_OPEN = sa.select(*ASK).where(_IS_OPEN)


def _tally(latest: sa.ColumnElement[Any], condition: sa.ColumnElement[bool]) -> sa.Select[Any]:
    columns: list[sa.ColumnElement[Any]] = [sa.func.count(), sa.func.max(latest)]
    return sa.select(*columns).where(condition)


# Each counts a few rows of a partial index.
_TALLIES = (_tally(asks.c.created_at, _IS_OPEN), _tally(asks.c.parked_at, PARKED))


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxCount:
    """The number of open questions and of parked asks, and when the latest of them came (None if there is none)."""

    questions: int
    parked: int
    latest_at: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanQuestion:
    """A question to a human: the ask, the message that it shows, and the agent that asks."""

    ask: AskRecord
    document: Json | None
    agent: AgentRecord


# Makes the message of a question; of None, if there is no question that could be answered: that is refused afterwards.
# None says that the human has no answer, so that others are asked.
MakeAnswer = Callable[[HumanQuestion | None], NewDocument | None]


class Inbox(TenantPart):
    """Lists the tenant's open questions and takes their answers."""

    def open_questions(self, limit: int = 100, *, after: ListPlace | None = None) -> list[AskRecord]:
        """Open questions, oldest first; those behind `after`."""
        own = self._own(_OPEN, asks.c.run_id)
        statement = oldest_first(own, asks.c.created_at, asks.c.id, after).limit(limit)
        with self._database.read() as connection:
            return [ask_of(row) for row in connection.execute(statement)]

    def inbox_count(self) -> InboxCount:
        """The number of open questions and parked asks."""
        with self._database.read() as connection:
            found = [connection.execute(self._own(tally, asks.c.run_id)).one() for tally in _TALLIES]
        (questions, asked_at), (parked, parked_at) = found
        latest = max((at for at in (asked_at, parked_at) if at is not None), default=None)
        return InboxCount(questions=questions, parked=parked, latest_at=latest)

    def answer(
        self,
        run_id: str,
        said: NewDocument | MakeAnswer | None,
        question_id: str | None = None,
        *,
        traceparent: str | None = None,
    ) -> AskRecord:
        """Answer a question of a run; it may be left unnamed if exactly one is open. The question, as it was.

        None says that the human has no answer, so that others are asked. `traceparent` is of the request that answers.

        Raises `NotFoundError` for an unknown run or question, and `ConflictError` with one of the codes
        `no_open_question`, `already_answered`, `ambiguous_question`.
        """
        with self._locked(run_id) as transaction:
            ask = answer_in(transaction, said, question_id, traceparent=traceparent)
            # A repeated request is told its question: the run may have been asked others, and given the same answer.
            self._audited(transaction.connection, run_id, made=ask.id)
        return ask


def answer_in(
    transaction: RunTransaction,
    said: NewDocument | MakeAnswer | None,
    question_id: str | None = None,
    *,
    traceparent: str | None = None,
) -> AskRecord:
    """`Inbox.answer`, within a transaction over the run; the caller commits it."""
    named = question_id
    if callable(said):
        question = _question(transaction, question_id)
        named = question_id or (question.ask.id if question is not None else None)
        document = said(question)
    else:
        document = said
    ask = _named(transaction, named) if named else _only(transaction)
    if document is not None:
        transaction.put_document(document.id, document.body, document.parent_id)
    kind: Literal["nothing", "answer"] = "nothing" if document is None else "answer"
    reply = Reply(kind=kind, document=document, traceparent=traceparent)
    transaction.add_reply(reply_row(transaction, ask, reply, token=ask.token))
    transaction.event(HumanAnswered(document=document.id if document is not None else None), ask.place)
    transaction.change(move_due_at=transaction.now)
    return ask


def _question(transaction: RunTransaction, question_id: str | None) -> HumanQuestion | None:
    ask = transaction.ask(question_id) if question_id else transaction.open_ask()
    if ask is None or ask.responder != "user":
        return None
    document = transaction.documents([ask.message_id]).get(ask.message_id) if ask.message_id else None
    return HumanQuestion(ask=ask, document=document, agent=transaction.agent(ask.agent))


def _named(transaction: RunTransaction, question_id: str) -> AskRecord:
    ask = transaction.ask(question_id)
    if ask is None or ask.responder != "user":
        raise NotFoundError(f"the run {transaction.run.id} has no question {question_id!r}; list its open questions")
    if ask.status == AskStatus.ANSWERED:
        raise _already(ask)
    if ask.status != AskStatus.OPEN:
        raise _none(transaction)
    return ask


def _only(transaction: RunTransaction) -> AskRecord:
    rows = transaction.connection.execute(_OPEN.where(asks.c.run_id == transaction.run.id).limit(2)).all()
    if len(rows) > 1:
        raise ConflictError(
            f"the run {transaction.run.id} has several open questions; name the one that you answer",
            code="ambiguous_question",
        )
    if rows:
        return ask_of(rows[0])
    awaited = transaction.open_ask()  # answered a moment ago, and not yet taken up
    if awaited is not None and awaited.responder == "user" and awaited.status == AskStatus.ANSWERED:
        raise _already(awaited)
    raise _none(transaction)


def _already(ask: AskRecord) -> ConflictError:
    return ConflictError(
        f"somebody has already answered the question {ask.id}; the first answer counts", "already_answered"
    )


def _none(transaction: RunTransaction) -> ConflictError:
    return ConflictError(
        f"the run {transaction.run.id} asks no one at the moment (it is {transaction.run.status})", "no_open_question"
    )
