"""The HTTP side of the fake model; loads FastAPI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from turnwise.testing.fake_llm import wire
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.batch_routes import add_batch_routes
from turnwise.testing.fake_llm.batch_script import BatchScript
from turnwise.testing.fake_llm.batch_store import BatchStore
from turnwise.testing.fake_llm.embeddings import EMBEDDING_MODEL, EmbeddingRequest, embeddings
from turnwise.testing.fake_llm.limits import Decision, RequestLimiter, ServerLimits
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.script import Answerer
from turnwise.testing.fake_llm.stats import Stats
from turnwise.testing.fake_llm.strict import schema_faults

MODEL = "turnwise-fake"


def create_app(
    answerer: Answerer, stats: Stats, limits: ServerLimits | None = None, batches: BatchScript | None = None
) -> FastAPI:
    """The server of `answerer`: models, chat completions (within `limits`), files and batches, embeddings, and
    `GET /stats`.
    """
    app = FastAPI(title="turnwise fake-llm", openapi_url=None)

    def answer_line(request: ChatRequest) -> Answer:
        stats.batched(request)
        return _ask(answerer, request)

    store = BatchStore(answer_line, batches)
    if store.script.offered:
        add_batch_routes(app, store, stats, _error)
    routes = _Routes(answerer, stats, RequestLimiter(limits))
    app.add_api_route("/v1/models", routes.models, methods=["GET"])
    app.add_api_route("/v1/chat/completions", routes.chat, methods=["POST"], response_model=None)
    app.add_api_route("/v1/embeddings", routes.embed, methods=["POST"], response_model=None)
    app.add_api_route("/stats", routes.counts, methods=["GET"])
    return app


class _Routes:
    def __init__(self, answerer: Answerer, stats: Stats, limiter: RequestLimiter) -> None:
        self._answerer, self._stats, self._limiter = answerer, stats, limiter

    async def models(self) -> dict[str, object]:
        about = {"object": "model", "created": 0, "owned_by": "turnwise"}
        return {"object": "list", "data": [{"id": MODEL, **about}, {"id": EMBEDDING_MODEL, **about}]}

    async def chat(self, http: Request) -> Response:
        try:
            request = ChatRequest.model_validate_json(await http.body())
        except ValidationError as error:
            return _error(ScriptedFault(status=400, message=f"not a chat request: {_faults(error)}"))
        if wrong := schema_faults(request):
            return _error(ScriptedFault(status=400, message="; ".join(wrong)))
        customer = (request.model, http.headers.get("authorization", ""))
        decision = self._limiter.enter(customer, request)
        if decision.call is None:
            self._stats.limited()
            return _refused(decision)
        tokens = None
        try:
            with self._stats.call(request):
                answer = _ask(self._answerer, request)
                if answer.delay and await _hung_up(http, answer.delay):
                    self._stats.hung_up()
                    return Response(status_code=499)  # no one reads it
            response = _respond(request, answer)
            tokens = _used(request, answer)
        finally:
            self._limiter.leave(customer, decision.call, tokens)
        response.headers.update(decision.headers)
        return response

    async def embed(self, http: Request) -> Response:
        try:
            request = EmbeddingRequest.model_validate_json(await http.body())
        except ValidationError as error:
            return _error(ScriptedFault(status=400, message=f"not an embeddings request: {_faults(error)}"))
        self._stats.embedded(len(request.texts))
        return JSONResponse(await asyncio.to_thread(embeddings, request))

    async def counts(self) -> dict[str, int]:
        return self._stats.snapshot()


async def _hung_up(http: Request, seconds: float) -> bool:
    """Wait, as a slow model would, and return whether the client has closed the connection meanwhile."""
    try:
        # After the body of the request, all that can come is its end.
        await asyncio.wait_for(http.receive(), seconds)
    except TimeoutError:
        return False
    return True


def _faults(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())


def _ask(answerer: Answerer, request: ChatRequest) -> Answer:
    try:
        answer: object = answerer(request)  # what a user's function really returns is seen here
    except Exception as error:  # noqa: BLE001 - a script may raise anything; its caller is told
        message = f"the script's answer() raised {type(error).__name__}: {error}"
        return Answer(fault=ScriptedFault(status=400, message=message))
    if isinstance(answer, str):
        return Answer(content=answer)
    if isinstance(answer, Answer):
        return answer
    message = f"the script's answer() returned {type(answer).__name__}; expected an Answer or a string"
    return Answer(fault=ScriptedFault(status=400, message=message))


def _respond(request: ChatRequest, answer: Answer) -> Response:
    if isinstance(answer.fault, ScriptedFault):
        return _error(answer.fault)
    if request.stream:
        lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in wire.chunks(request, answer)]
        if answer.fault == "disconnect":
            return _Broken(lines[: len(lines) // 2], "text/event-stream", answer.pace)
        lines.append(b"data: [DONE]\n\n")
        if answer.pace:
            return StreamingResponse(_paced(lines, answer.pace), media_type="text/event-stream")
        return Response(b"".join(lines), media_type="text/event-stream")
    body = wire.completion(request, answer)
    if answer.fault == "disconnect":
        return _Broken([json.dumps(body).encode()[:20]], "application/json")
    return JSONResponse(body)


async def _paced(lines: Iterable[bytes], pace: float) -> AsyncIterator[bytes]:
    for line in lines:
        await asyncio.sleep(pace)
        yield line


def _used(request: ChatRequest, answer: Answer) -> int:
    """The tokens that an answer counts; one that could not be given counts none."""
    return 0 if answer.fault is not None else int(wire.completion(request, answer)["usage"]["total_tokens"])


def _refused(decision: Decision) -> Response:
    error = {"message": decision.why, "type": "requests", "param": None, "code": "rate_limit_exceeded"}
    return JSONResponse({"error": error}, status_code=429, headers=decision.headers)


def _error(fault: ScriptedFault) -> Response:
    headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    error = {"message": fault.message, "type": "fake_llm", "param": None, "code": None}
    return JSONResponse({"error": error}, status_code=fault.status, headers=headers)


class _Broken(Response):
    """A response that stops in the middle: the server then closes the connection."""

    def __init__(self, parts: Iterable[bytes], media_type: str, pace: float = 0.0) -> None:
        super().__init__(media_type=media_type)
        self._parts = list(parts)
        self._pace = pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", (self.media_type or "").encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in self._parts:
            if self._pace:
                await asyncio.sleep(self._pace)
            await send({"type": "http.response.body", "body": part, "more_body": True})
