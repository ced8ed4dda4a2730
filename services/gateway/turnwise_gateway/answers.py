"""Questions to humans, and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from turnwise.agents.record import AgentRecord
from turnwise.messages.document import ChatDocument
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.runs.records import AskRecord, NewDocument
from turnwise.tasks.tree import TaskTree
from turnwise_gateway.bodies import HumanText
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.problem import problems
from turnwise_gateway.runs import known_form, wake
from turnwise_gateway.views import Page, RunView, readable, run_view, when

router = APIRouter(prefix="/v1", tags=["humans"])


class QuestionView(BaseModel):
    """A question that waits for a human; `task` is the path of the task that asks."""

    id: str
    run: str
    task: str
    asked_at: datetime
    text: str
    document: dict[str, Any] | None


@router.get("/inbox", responses=problems(422, 503))
def list_questions(gateway: Here, limit: Annotated[int, Query(ge=1, le=200)] = 100) -> Page[QuestionView]:
    """Open questions, oldest first."""
    return Page(items=[_question(gateway, ask) for ask in gateway.store.open_questions(limit=limit)])


@router.post("/runs/{run_id}/messages", responses=problems(400, 404, 409, 413, 415, 422, 503))
def answer_question(run_id: str, body: HumanText, gateway: Here) -> RunView:
    """Answer a question of the run; the first answer counts, the second one gets 409 `already_answered`."""
    known_form(run_id)
    asked = _asked(gateway, run_id, body.question)
    said = _as_document(gateway, asked, body.text)
    gateway.store.answer(run_id, said, body.question or (asked[0].id if asked else None))
    wake(gateway, run_id)
    return run_view(gateway.store.run(run_id))


Asked = tuple[AskRecord, dict[str, Any] | None, AgentRecord]


def _asked(gateway: Gateway, run_id: str, question: str | None) -> Asked | None:
    """The question, its document and the memory of the agent that asks; None if it is for the store to refuse."""
    with gateway.store.locked(run_id) as transaction:
        ask = transaction.ask(question) if question else transaction.open_ask()
        if ask is None or ask.responder != "user":
            return None
        document = transaction.documents([ask.message_id]).get(ask.message_id) if ask.message_id else None
        return ask, document, AgentRecord.model_validate(transaction.agent(ask.agent).record or {})


def _as_document(gateway: Gateway, asked: Asked | None, text: str) -> NewDocument | None:
    """The answer as a message; None for an empty one, which lets others answer."""
    question: ChatDocument | None = None
    default, calls = None, []
    if asked is not None:
        ask, body, agent = asked
        tree = gateway.app.tree(gateway.store.run(ask.run_id).task)
        question = decode_document(body, tree.registry()) if body else None
        default, calls = _default(tree, ask.path), agent.open_calls
    said = human_answer(text, question, default=default, open_calls=calls)
    if said is None:
        return None
    # Whatever comes over HTTP, also what begins with SYSTEM, runs no handler that the model may not use.
    said.metadata.tainted = True
    return NewDocument(id=said.metadata.id, body=encode_document(said))


def _default(tree: TaskTree, path: str) -> str | None:
    try:
        return tree.root.at(path).default_human_response
    except KeyError:  # asked by another version of the application
        return None


def _question(gateway: Gateway, ask: AskRecord) -> QuestionView:
    document = gateway.store.document(ask.run_id, ask.message_id) if ask.message_id else None
    document = readable(document or {})
    return QuestionView(
        id=ask.id,
        run=ask.run_id,
        task=ask.path,
        asked_at=when(ask.created_at),
        text=document.get("content", ""),
        document=document or None,
    )
