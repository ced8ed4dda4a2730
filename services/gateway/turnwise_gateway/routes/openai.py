"""OpenAI's interface: the tasks as models, and their runs as completions and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidRequestError, UnknownTaskError
from turnwise_gateway.access.scopes import READS, READS_AND_WRITES
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.idempotency import REPEATED, REPLAYED, SESSION, is_repeated, run_of
from turnwise_gateway.http.router import api_router
from turnwise_gateway.openai_door.chat_parameters import ChatParameters
from turnwise_gateway.openai_door.completions import ChatCompletion, chunks, completion
from turnwise_gateway.openai_door.conversation import GivenConversation
from turnwise_gateway.openai_door.errors import DoorFault, documented
from turnwise_gateway.openai_door.event_stream import DoorStream
from turnwise_gateway.openai_door.followed_run import DoorAnswer, FollowedRun
from turnwise_gateway.openai_door.previous_response import PreviousResponse
from turnwise_gateway.openai_door.response_parameters import ResponseParameters
from turnwise_gateway.openai_door.responses import DoorResponse, ResponseWriter
from turnwise_gateway.openai_door.run_of_request import opened, waiting_for
from turnwise_gateway.openai_door.run_options import RunOptions, options_of
from turnwise_gateway.openai_door.waiting_run import AnsweredRun

router = api_router("openai", "/v1", any_query=True)

# Seconds that OpenAI's own client waits as well.
_WAIT = 600.0
_FAULTS = (400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503)
Wait = Annotated[
    float, Query(ge=0, le=_WAIT, allow_inf_nan=False, description="Seconds until 408; the run continues then.")
]


class ModelView(BaseModel):
    """A task of the application, as a model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    """The tasks of the application."""

    object: Literal["list"] = "list"
    data: list[ModelView]


@router.get("/models", dependencies=[READS], responses=documented(401, 403, 429, 503))
def list_models(gateway: Here) -> ModelList:
    """Return the tasks as models."""
    return ModelList(data=[_model(gateway, name) for name in gateway.app.tasks])


@router.get("/models/{model:path}", dependencies=[READS], responses=documented(401, 403, 404, 429, 503))
def show_model(model: str, gateway: Here) -> ModelView:
    """Return one task as a model."""
    _require_task(gateway, model)
    return _model(gateway, model)


@router.post(
    "/chat/completions", dependencies=[READS_AND_WRITES], response_model=ChatCompletion, responses=documented(*_FAULTS)
)
async def create_chat_completion(body: ChatParameters, gateway: Here, request: Request, wait: Wait = _WAIT) -> Response:
    """Have a task answer a conversation; with `stream`, as server-sent events while it does."""
    conversation = body.conversation()
    options = options_of(body, conversation.message, request)
    stream = bool(body.stream)

    async def begin() -> FollowedRun:
        answers = await run_in_threadpool(_waiting, gateway, request, conversation, options)
        return await opened(gateway, request, conversation, options, answers=answers, stream=stream, wait=wait)

    followed = await _followed(request, begin)
    if stream:
        usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        return DoorStream(chunks(followed, include_usage=usage), _headers(followed))
    return await _whole(followed, lambda answer: completion(followed, answer))


@router.post("/responses", dependencies=[READS_AND_WRITES], response_model=DoorResponse, responses=documented(*_FAULTS))
async def create_response(body: ResponseParameters, gateway: Here, request: Request, wait: Wait = _WAIT) -> Response:
    """Have a task answer a message, or a conversation; with `stream`, as server-sent events while it does.

    The run keeps a session of its own, which `previous_response_id` continues.
    """
    conversation = body.conversation_given()
    options = options_of(body, conversation.message, request)
    stream, previous = bool(body.stream), body.previous_response_id

    async def begin() -> FollowedRun:
        if previous is None:
            answers = await run_in_threadpool(_waiting, gateway, request, conversation, options)
            found = answers, conversation, options.in_session(options.session_id or new_id("session"))
        else:
            found = await run_in_threadpool(_continued, gateway, request, previous, conversation, options)
        answers, said, placed = found
        return await opened(gateway, request, said, placed, answers=answers, stream=stream, wait=wait)

    followed = await _followed(request, begin, names_question=previous is not None)
    writer = ResponseWriter(followed, previous, body.metadata)
    if stream:
        return DoorStream(writer.events(), _headers(followed))
    return await _whole(followed, writer.whole)


async def _followed(
    request: Request, begin: Callable[[], Awaitable[FollowedRun]], *, names_question: bool = False
) -> FollowedRun:
    """Begin once more after a conflict with the same request, which was sent at the same time and was faster.

    The record then tells a repeated request what it was about, as it does one that comes later. With `names_question`
    the same answer without an idempotency key is known as well.
    """
    try:
        return await begin()
    except ConflictError as error:
        if not await is_repeated(request) and not (names_question and error.code == "already_answered"):
            raise
    return await begin()


def _model(gateway: Gateway, name: str) -> ModelView:
    # No one keeps when a task was first offered.
    return ModelView(id=name, created=0, owned_by=gateway.app.name)


def _require_task(gateway: Gateway, name: str) -> None:
    if name not in gateway.app.tasks:
        known = ", ".join(gateway.app.tasks) or "none"
        raise UnknownTaskError(f"application {gateway.app.name!r} has no task {name!r}; it has: {known}")


def _waiting(
    gateway: Gateway, request: Request, conversation: GivenConversation, options: RunOptions
) -> AnsweredRun | None:
    return None if REPEATED in request.scope else waiting_for(gateway, conversation, options)


def _continued(
    gateway: Gateway, request: Request, previous: str, conversation: GivenConversation, options: RunOptions
) -> tuple[AnsweredRun | None, GivenConversation, RunOptions]:
    """The question that the message answers, or the conversation and session that a new run continues."""
    record, task = gateway.record, options.submission.task
    response = PreviousResponse.named(record, previous)
    run = response.run
    if REPEATED in request.scope:
        same = response.question if run_of(request.scope[REPEATED]) == run.id else None
        return None if same is None else AnsweredRun(run=run, question=same), conversation, options
    if run.task != task or options.session_id not in (None, run.session_id):
        raise InvalidRequestError(
            f"the response {previous} is of model {run.task!r} and session {run.session_id!r}; send these"
        )
    answers = response.answered_run(record, conversation.message)
    if answers is not None:
        return answers, conversation, options
    continued = run.session_id if run.session_id and response.is_newest(record) else None
    said = (*response.conversation(record, of_session=continued is None), *conversation.history)
    return None, replace(conversation, history=said), options.in_session(continued or new_id("session"))


async def _whole(followed: FollowedRun, written: Callable[[DoorAnswer], dict[str, Any]]) -> Response:
    async for _ in followed.pieces(text=False):
        pass
    outcome, headers = followed.outcome, _headers(followed)
    if isinstance(outcome, DoorAnswer):
        return JSONResponse(written(outcome), headers=headers)
    left = DoorFault(408, f"the client of the run {followed.run.id} has left", "client_left")
    return (outcome or left).response(headers)


def _headers(followed: FollowedRun) -> dict[str, str]:
    headers = {"X-Run-Id": followed.run.id}
    if followed.run.session_id is not None:
        headers[SESSION] = followed.run.session_id
    return headers | (REPLAYED if followed.replayed else {})
