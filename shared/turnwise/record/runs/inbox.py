"""Questions to humans: rows that wait, with no worker behind them."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa

from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.asks.parking import PARKED
from turnwise.record.asks.replies import reply_row
from turnwise.record.database.columns import word
from turnwise.record.database.rows import ASK, ask_of
from turnwise.record.database.schema import asks
from turnwise.record.events.ask_events import HumanAnswered
from turnwise.record.runs.base import StoreBase
from turnwise.record.runs.outcomes import Reply
from turnwise.record.runs.records import AskRecord, NewDocument
from turnwise.record.runs.transaction import RunTransaction
from turnwise.record.states import AskStatus

_IS_OPEN = asks.c.status == word(AskStatus.OPEN)
_OPEN = sa.select(*ASK).where(_IS_OPEN)


class Inbox(StoreBase):
    """Lists open questions and takes their answers."""

    def open_questions(self, limit: int = 100) -> list[AskRecord]:
        """Open questions, oldest first."""
        statement = self.own(_OPEN, asks.c.run_id).order_by(asks.c.created_at).limit(limit)
        with self.database.read() as connection:
            return [ask_of(row) for row in connection.execute(statement)]

    def open_question_count(self) -> int:
        """Return how many questions and parked asks wait for a human."""
        with self.database.read() as connection:
            # Two statements, so that each can use its partial index.
            counts = [sa.select(sa.func.count()).select_from(asks).where(which) for which in (_IS_OPEN, PARKED)]
            return sum(int(connection.execute(statement).scalar_one()) for statement in counts)

    def answer(
        self,
        run_id: str,
        document: NewDocument | None,
        question_id: str | None = None,
        *,
        traceparent: str | None = None,
    ) -> AskRecord:
        """Answer a question of a run; it may be left unnamed if exactly one is open. The question, as it was.

        None says that the human has no answer, so that others are asked. `traceparent` is of the request that answers.

        Raises `NotFoundError` for an unknown run or question, and `ConflictError` with one of the codes
        `no_open_question`, `already_answered`, `ambiguous_question`.
        """
        with self.locked(run_id) as transaction:
            ask = self.answer_in(transaction, document, question_id, traceparent=traceparent)
            self.audited(transaction.connection, run_id)
        return ask

    def answer_in(
        self,
        transaction: RunTransaction,
        document: NewDocument | None,
        question_id: str | None = None,
        *,
        traceparent: str | None = None,
    ) -> AskRecord:
        """`answer`, within a transaction over the run; the caller commits it."""
        ask = self._named(transaction, question_id) if question_id else self._only(transaction)
        if document is not None:
            transaction.put_document(document.id, document.body, document.parent_id)
        kind: Literal["nothing", "answer"] = "nothing" if document is None else "answer"
        reply = Reply(kind=kind, document=document, traceparent=traceparent)
        transaction.add_reply(reply_row(transaction, ask, reply, token=ask.token))
        transaction.event(HumanAnswered(document=document.id if document is not None else None), ask.place)
        transaction.change(move_due_at=transaction.now)
        return ask

    def _named(self, transaction: RunTransaction, question_id: str) -> AskRecord:
        ask = transaction.ask(question_id)
        if ask is None or ask.responder != "user":
            raise NotFoundError(
                f"the run {transaction.run.id} has no question {question_id!r}; list its open questions"
            )
        if ask.status == AskStatus.ANSWERED:
            raise _already(ask)
        if ask.status != AskStatus.OPEN:
            raise _none(transaction)
        return ask

    def _only(self, transaction: RunTransaction) -> AskRecord:
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
        f"the run {transaction.run.id} asks nobody at the moment (it is {transaction.run.status})", "no_open_question"
    )
