"""Questions to humans, and their answers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from turnwise.agents.kept_state import AgentMemory
from turnwise.api.runs import RunView
from turnwise.messages.document import ChatDocument
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.observability.telemetry.context import current_traceparent, link_current_to
from turnwise.record.runs.records import AskRecord, NewDocument
from turnwise.record.runs.transaction import RunTransaction
from turnwise_gateway.access.scopes import WRITES
from turnwise_gateway.bodies import HumanText
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.routes.runs import known_form, wake
from turnwise_gateway.views import run_view

router = APIRouter(prefix="/v1", tags=["humans"])


@router.post("/runs/{run_id}/messages", dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def answer_question(run_id: str, body: HumanText, gateway: Here) -> RunView:
    """Answer a question of the run; the first answer counts, the second one gets 409 `already_answered`."""
    take_answer(gateway, known_form(run_id), body.text, body.question)
    now = gateway.situation(run_id)
    wake(gateway, now.run)
    return run_view(now)


def take_answer(gateway: Gateway, run_id: str, text: str, question: str | None) -> None:
    """Take a human's answer; raises what `Store.answer` raises."""
    with gateway.store.locked(run_id) as transaction:
        ask = answer_in(gateway, transaction, text, question)
        gateway.store.audited(transaction.connection, run_id)
    link_current_to(ask.traceparent)


def answer_in(gateway: Gateway, transaction: RunTransaction, text: str, question: str | None) -> AskRecord:
    """Take a human's answer within a transaction over the run; the caller commits it."""
    asked = _asked(transaction, question)
    said = _as_document(asked, text)
    named = question or (asked[0].id if asked else None)
    return gateway.store.answer_in(transaction, said, named, traceparent=current_traceparent())


Asked = tuple[AskRecord, dict[str, Any] | None, AgentMemory]


def _asked(transaction: RunTransaction, question: str | None) -> Asked | None:
    """The question, its document and the memory of the agent that asks; None if it is for the store to refuse."""
    ask = transaction.ask(question) if question else transaction.open_ask()
    if ask is None or ask.responder != "user":
        return None
    document = transaction.documents([ask.message_id]).get(ask.message_id) if ask.message_id else None
    return ask, document, AgentMemory.model_validate(transaction.agent(ask.agent).record or {})


def _as_document(asked: Asked | None, text: str) -> NewDocument | None:
    """The answer as a message; None for an empty one, which lets others answer."""
    question: ChatDocument | None = None
    default, calls = None, []
    if asked is not None:
        ask, body, agent = asked
        # Tools are none of the human's business, so no registry: the run may be of another version than this process.
        question = decode_document(body, {}) if body else None
        default, calls = ask.extra.get("default"), agent.open_calls
    said = human_answer(text, question, default=default, open_calls=calls)
    if said is None:
        return None
    # Whatever comes over HTTP, also what begins with SYSTEM, runs no handler that the model may not use.
    said.metadata.tainted = True
    return NewDocument(id=said.metadata.id, body=encode_document(said))
