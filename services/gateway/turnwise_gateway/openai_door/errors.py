"""Errors in the form that OpenAI's clients read.

On the door's paths each problem document is written anew on its way out, whoever has made it: the sign-in, a limit, the
validation, a route.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.base.text import excerpt
from turnwise.observability.redaction import redact_beginning
from turnwise_gateway.http.problem import MEDIA_TYPE, all_told
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.root_path import inner_path
from turnwise_gateway.openai_door.parameters import AS_LIST, AS_TEXT, UNSUPPORTED

PATHS = re.compile(r"/v1/(models(/.*)?|chat/completions|responses)")
# Paths of OpenAI's clients that are asked for by mistake; their errors have the form that those clients show.
_WITHOUT_VERSION = re.compile(r"/(models(/.*)?|chat/completions|responses|embeddings|completions)")
_NOT_OFFERED = re.compile(r"/v1/(completions|embeddings|moderations|files|images/.*|audio/.*|responses/.*)")
# What OpenAI's clients retry by themselves would do its work again.
_DO_NOT_RETRY = {"x-should-retry": "false"}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
# The codes of the API that OpenAI has another word for, with their status there.
_CODES = {"unknown_task": (404, "model_not_found"), "unauthorized": (401, "invalid_api_key")}


class DoorError(BaseModel):
    """The error: programs read `code`, people read `message`."""

    message: str
    type: str = Field(examples=["invalid_request_error"])
    param: str | None = Field(None, examples=["temperature"])
    code: str | None = Field(None, examples=["unsupported_parameter"])


class DoorErrorBody(BaseModel):
    """An error in OpenAI's form."""

    error: DoorError


class DoorFault(NamedTuple):
    """A failure to answer that was found after the request was accepted."""

    status: int
    message: str
    code: str

    def body(self) -> dict[str, Any]:
        """The error in OpenAI's form."""
        return error_body(self.status, self.message, self.code)

    def response(self, headers: dict[str, str]) -> JSONResponse:
        """The answer of a request that was not streamed."""
        return JSONResponse(self.body(), self.status, headers | _DO_NOT_RETRY)


def fault_of(run_id: str, told: str, status_code: str) -> DoorFault:
    """The failure of a run."""
    return DoorFault(500, f"the run {run_id} failed: {told}", f"run_{status_code.lower()}")


def error_body(status: int, message: str, code: str, param: str | None = None) -> dict[str, Any]:
    """An error in OpenAI's form."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    error = DoorError(message=redact_beginning(message), type=kind, param=param, code=code)
    found: dict[str, Any] = readable({"error": error.model_dump()})
    return found


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Those error responses, for a route's `responses`."""
    return {status: {"model": DoorErrorBody} for status in statuses}


class DoorErrors:
    """ASGI middleware: problem documents leave the door's paths as errors of OpenAI's form."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = inner_path(scope) if scope["type"] == "http" else ""
        missing = _missing(path)
        if missing is None and not PATHS.fullmatch(path):
            await self._app(scope, receive, send)
            return
        rewriting = _Rewriting(send, missing)
        try:
            await self._app(scope, receive, rewriting.send)
        except Exception:
            if not rewriting.begun:
                told = "this server has a fault of its own; its log tells more"
                await JSONResponse(error_body(500, told, "internal"), 500)(scope, receive, send)
            raise  # the server writes it to its log


class _Rewriting:
    """The answer on its way out; a problem is kept back until it is whole."""

    def __init__(self, send: Send, missing: str | None) -> None:
        self._send, self._missing = send, missing
        self._start: Message | None = None
        self._body = b""
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            if MutableHeaders(scope=message).get("content-type") == MEDIA_TYPE:
                self._start = message
                return
        if self._start is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            await self._rewritten(self._start)

    async def _rewritten(self, start: Message) -> None:
        problem = json.loads(self._body)
        if start["status"] == 404 and self._missing is not None:
            problem["detail"] = self._missing
        status, found = _translated(start["status"], problem)
        body = json.dumps(found, separators=(",", ":")).encode()
        headers = MutableHeaders(scope=start)
        if status == 409:
            headers.update(_DO_NOT_RETRY)
        headers["content-type"], headers["content-length"] = "application/json", str(len(body))
        await self._send({**start, "status": status})
        await self._send({"type": "http.response.body", "body": body})


def _missing(path: str) -> str | None:
    """Return what is to be said of a path that OpenAI has, and this server has not."""
    if _WITHOUT_VERSION.fullmatch(path):
        return f"there is nothing at {excerpt(path)}; give the client a base_url that ends with /v1"
    if _NOT_OFFERED.fullmatch(path):
        offered = "/v1/models, /v1/chat/completions and /v1/responses"
        return f"there is nothing at {excerpt(path)}; of OpenAI's interface this server has {offered}"
    return None


def _translated(status: int, problem: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and the body of an error, made of a problem."""
    code, detail, faults = problem["code"], problem["detail"], problem.get("errors") or []
    unsupported = [fault for fault in faults if fault["message"].startswith("this is not supported")]
    faults = unsupported or faults
    param = _param(faults[0]["where"]) if faults else "model" if code == "unknown_task" else None
    code = UNSUPPORTED if unsupported else code
    if faults:
        told = (f"{_param(fault['where']) or 'body'}: {fault['message']}" for fault in faults)
        detail = all_told(told, problem.get("more_errors") or 0)
    status, code = _CODES.get(code, (400 if status == 422 else status, code))
    return status, error_body(status, detail, code, param)


def _param(where: str) -> str | None:
    """The name of a parameter as OpenAI's errors write it: messages[0].content."""
    return _written(where.split(".")[1:]) or None


def _written(parts: Iterable[str]) -> str:
    made = ""
    for part in parts:
        if part in (AS_TEXT, AS_LIST):
            continue
        made += f"[{part}]" if part.isdigit() else f".{part}" if made else part
    return made
