"""Runs that continue from their past: forks of a run, and a failed run that is taken up again."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Response

from turnwise.api.runs import RunView
from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError, InvalidRequestError, NotFoundError, UnknownPriceError
from turnwise.messages.wire import encode_document
from turnwise.models.providers import refuse_address
from turnwise.observability.telemetry.context import current_traceparent, link_current_to
from turnwise.processes.new_runs import chosen_version
from turnwise.processes.spending import spending_of
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.tenants.caller import Caller
from turnwise.record.values.records import NewFork, RunRecord
from turnwise.serving.attempts.other_models import without_price
from turnwise.tasks.entry import document_of
from turnwise_gateway.access.scopes import WRITES
from turnwise_gateway.bodies import Fork, Retry
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.idempotency import REPLAYED
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.root_path import public
from turnwise_gateway.http.router import api_router
from turnwise_gateway.human_answers import as_document
from turnwise_gateway.parameters import IdempotencyKey, known_form
from turnwise_gateway.views import run_view

router = api_router("runs", "/v1/runs/{run_id}")


@router.post("/retry", status_code=202, dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def retry_run(run_id: str, gateway: Here, body: Annotated[Retry, Body()] = Retry()) -> RunView:  # noqa: B008
    """Have a run continue that has ended with ERROR or TIMEOUT: the ask that failed is asked again, the rest is kept.

    A run of a session cannot, once a later run of the session has begun.
    """
    given = body.limits
    limits = RetryLimits(max_cost=given.max_cost, max_tokens=given.max_tokens, deadline=given.deadline)
    run, ask = gateway.record.retry(known_form(run_id), limits, traceparent=current_traceparent())
    link_current_to(run.traceparent)
    gateway.dispatcher.continue_run(run, ask)
    return run_view(gateway.situation(run.id))


@router.post("/fork", status_code=202, dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def fork_run(
    run_id: str, body: Fork, gateway: Here, caller: Who, response: Response, idempotency_key: IdempotencyKey = None
) -> RunView:
    """Make a run of its own that has this one's past up to an event, and continues from there.

    Nothing from before that event is asked, done or paid again. A `message` is the answer of whoever is asked there, a
    human, a model or tool handlers; of a run that has not begun there, it is the first message.
    """
    try:
        run, created = _forked(gateway, known_form(run_id), body, caller, idempotency_key)
    except NotFoundError:
        # The fork may have been made before the origin was purged.
        known = gateway.record.submitted(idempotency_key, body.digest(run_id)) if idempotency_key else None
        if known is None:
            raise
        run, created = known, False
    response.headers["Location"] = public(f"/v1/runs/{run.id}")
    if not created:
        response.headers.update(REPLAYED)
    return run_view(gateway.situation(run.id))


def _forked(gateway: Gateway, run_id: str, body: Fork, caller: Caller, key: str | None) -> tuple[RunRecord, bool]:
    """The fork, and whether it is new; raises `NotFoundError` for a run that is not there, and as `Forks.fork`."""
    origin = gateway.record.run(run_id)
    new = _new_fork(gateway, origin, body, key)
    _require_price(gateway, origin, new, caller)
    answer = None if body.message is None else partial(as_document, body.message)
    run, ask, created = gateway.record.fork(run_id, new, answer)
    link_current_to(origin.traceparent)
    gateway.dispatcher.continue_run(run, ask)
    return run, created


def _new_fork(gateway: Gateway, origin: RunRecord, body: Fork, key: str | None) -> NewFork:
    if body.model is not None:
        _require_name(body.model)
    version, limits = chosen_version(gateway.settings, gateway.app, body.version), body.limits
    here = version == gateway.app.version and origin.task in gateway.app.tasks
    return NewFork(
        id=new_id("run"),
        at=body.at,
        version=version,
        message=encode_document(document_of(body.message)) if body.message is not None else None,
        model=body.model,
        session_id=body.session_id,
        keeps_conversation=here and not gateway.app.tree(origin.task).root.restart,
        max_cost=limits.max_cost,
        max_tokens=limits.max_tokens,
        turns=limits.turns,
        deadline=limits.deadline,
        on_limit=limits.on_limit,
        can_wait=limits.can_wait,
        idempotency_key=key,
        body_hash=body.digest(origin.id) if key else None,
        traceparent=current_traceparent(),
    )


def _require_name(model: str) -> None:
    """Refuse a model's name that is an address: a worker would send the conversation to any server of the caller's."""
    try:
        refuse_address(model)
    except ConfigurationError as error:
        raise InvalidRequestError(str(error)) from error


def _require_price(gateway: Gateway, origin: RunRecord, new: NewFork, caller: Caller) -> None:
    """Refuse a fork whose calls would all be refused: under a limit of cost, of a model that has no known price.

    What is not known here, because another version of the application runs the fork, is refused before the call.
    """
    app, model = gateway.app, origin.model if new.model is None else new.model
    if model is None or new.version != app.version or origin.task not in app.tasks:
        return
    limits = spending_of(gateway.settings).limits_of(caller.limits)
    own = origin.max_cost if new.max_cost is None else new.max_cost
    session = limits.session[0] if new.session_id is not None else None
    if not any((own, session, limits.tenant_day[0], limits.tenant_month[0])):
        return
    try:
        agents = without_price(app.tree(origin.task), model)
    except ConfigurationError as error:
        raise InvalidRequestError(str(error)) from error
    if agents:
        raise UnknownPriceError(
            f"the model {model!r} has no known price for {', '.join(agents)}, and a limit of cost applies to the fork; "
            'take a model with a known price, or the limit away (limits.max_cost: "0")'
        )
