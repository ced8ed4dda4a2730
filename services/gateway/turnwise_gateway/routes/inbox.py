"""The inbox of humans: open questions, and parked asks that a person has to resolve."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Query

from turnwise.agents.tools.handler_lookup import may_return_nothing
from turnwise.api.details import ErrorDetail
from turnwise.api.inbox import HolderView, InboxCountView, Item, ParkedView, QuestionView
from turnwise.api.pages import Page
from turnwise.api.runs import RunView
from turnwise.base.times import when
from turnwise.base.tool_json import arguments_of
from turnwise.errors import ApplicationError, InvalidRequestError, NotFoundError
from turnwise.observability.telemetry.context import current_traceparent, link_current_to
from turnwise.record.asks.parked_reason import LastHolder, parked_reason
from turnwise.record.values.list_place import ListPlace
from turnwise.record.values.outcomes import Resolution
from turnwise.record.values.records import AskRecord
from turnwise.serving.attempts.served_calls import as_result
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.bodies import Resolved
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import Cursor, known_form
from turnwise_gateway.views import run_view

router = api_router("humans", "/v1/inbox")


@router.get("", dependencies=[READS], responses=problems(422, 503))
def list_inbox(gateway: Here, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=200)] = 100) -> Page[Item]:
    """Open questions and parked asks, oldest first."""
    after = None if cursor is None else ListPlace.of_cursor(cursor)
    found = [
        *gateway.record.open_questions(limit + 1, after=after),
        *gateway.record.parked_asks(limit + 1, after=after),
    ]
    found.sort(key=_place)
    shown = found[:limit]
    return Page(
        items=[_question(gateway, ask) if ask.parked_at is None else _parked(ask) for ask in shown],
        next_cursor=_place(shown[-1]).cursor if len(found) > limit else None,
    )


def _place(ask: AskRecord) -> ListPlace:
    return ListPlace(at=ask.created_at if ask.parked_at is None else ask.parked_at, id=ask.id)


@router.get("/count", dependencies=[READS], responses=problems(503))
def count_inbox(gateway: Here) -> InboxCountView:
    """The number of open questions and parked asks: for those who look often."""
    count = gateway.record.inbox_count()
    latest = None if count.latest_at is None else when(count.latest_at)
    return InboxCountView(questions=count.questions, parked=count.parked, latest_at=latest)


@router.post("/{item_id}", dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def resolve(item_id: str, body: Resolved, gateway: Here) -> RunView:
    """Say how to continue with a parked ask; the first answer counts, the second one gets 409 `already_resolved`.

    `happened`: the handler has done its work, with that result; it is not called again. `again`: it is called again,
    with the same idempotency key. `fail`: the run ends with an error.
    """
    run_id = _run_of(item_id)
    run = gateway.record.run(run_id)
    if body.outcome == "happened":
        _check_result(gateway, gateway.record.parked_ask(run_id, item_id), body.result)
    elif body.result is not None:
        raise InvalidRequestError(f"a result is for the outcome happened, not for {body.outcome}")
    said = Resolution(outcome=body.outcome, result=as_result(body.result), traceparent=current_traceparent())
    ask = gateway.record.resolve(run_id, item_id, said)
    link_current_to(ask.traceparent)
    # Before anything else is read, which may fail.
    gateway.dispatcher.continue_run(run, None if body.outcome == "fail" else ask)
    return run_view(gateway.situation(run_id))


def _run_of(item_id: str) -> str:
    """An ask's id begins with its run's."""
    try:
        return known_form(item_id.partition(".")[0])
    except NotFoundError as error:
        raise NotFoundError(f"there is no parked ask {item_id!r}; list the inbox to see what is") from error


def _check_result(gateway: Gateway, ask: AskRecord, result: Any) -> None:
    """Refuse to say that nothing came out of a handler that always returns something."""
    tool = ask.parked.tool if ask.parked is not None else None
    if result is not None or not tool:
        return
    try:
        agent = gateway.app.tree(gateway.record.run(ask.run_id).task).agents[ask.agent]
    except (KeyError, ApplicationError):  # asked by another version of the application
        return
    if not may_return_nothing(agent, tool):
        raise InvalidRequestError(f"the handler of {tool!r} always returns something; send that as the result")


def _question(gateway: Gateway, ask: AskRecord) -> QuestionView:
    document = gateway.record.document(ask.run_id, ask.message_id) if ask.message_id else None
    document = readable(document or {})
    return QuestionView(
        id=ask.id,
        run=ask.run_id,
        task=ask.path,
        asked_at=when(ask.created_at),
        text=document.get("content", ""),
        document=document or None,
    )


def _parked(ask: AskRecord) -> ParkedView:
    assert ask.parked is not None, "a parked ask has a reason"
    why = parked_reason(readable(ask.parked.as_json()))
    return ParkedView(
        id=ask.id,
        run=ask.run_id,
        task=ask.path,
        parked_at=when(ask.parked_at or ask.created_at),
        agent=ask.agent_name,
        responder="llm" if ask.responder == "llm" else "agent",
        reason=why.reason,  # type: ignore[arg-type]  # an open value
        tool=why.tool,
        arguments=arguments_of(why.arguments) if why.arguments else None,
        idempotency_key=why.idempotency_key,
        began_at=None if why.began_at is None else when(why.began_at),
        worker=_holder(why.worker),
        attempts=why.attempts,
        error=cast("ErrorDetail | None", why.error and why.error.as_json()),
    )


def _holder(worker: LastHolder | None) -> HolderView | None:
    return None if worker is None else HolderView(id=worker.id, host=worker.host, pid=worker.pid)
