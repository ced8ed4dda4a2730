"""The server of the protocol: it lists the tasks of a gateway as tools, and carries calls out."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

from turnwise.base.version import VERSION
from turnwise.client import AsyncClient
from turnwise.errors import TurnwiseError, UnauthorizedError
from turnwise.mcp_server.arguments import AnswerArguments, Arguments, ResultArguments, TaskArguments, read
from turnwise.mcp_server.calls import Call
from turnwise.mcp_server.outcome import CallOutcome, OpenQuestion, answered, refused
from turnwise.mcp_server.tools import ANSWER, RESULT, shown, tasks_by_tool

Context = ServerRequestContext[Any, Any]
# From this version of the protocol on a call that needs an answer ends, and is made again with it.
_CALLS_AGAIN = "2026-07-28"
_RETRIES = 3
# Name of the one field of a question's form.
_FIELD = "answer"
_FORM = {
    "type": "object",
    "properties": {_FIELD: {"type": "string", "title": "Answer"}},
    "required": [_FIELD],
}
_INSTRUCTIONS = (
    "Each tool runs a task of an application. A run may ask a human: ask your user, and pass the answer on with the "
    "tool `answer`. With `wait`, a call ends before its run; the tool `result` continues with it."
)


class TaskServer:
    """Offers the tasks of the gateway at `url`.

    Over HTTP each caller brings a key, which is passed on to the gateway; else `key` is used. `wait` is the wait of
    calls that name none; None: to the end of the run.
    """

    def __init__(self, url: str, key: str | None, *, wait: float | None = None) -> None:
        self._url = url
        self._key = key
        self._wait = wait
        # One pool of connections for the clients of all calls.
        self._transport = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=None))
        self.stopping = False
        self.protocol: Server[Any] = Server(
            "turnwise",
            version=VERSION,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def client(self, key: str | None) -> AsyncClient:
        """Return a client of the gateway with that key; it need not be closed."""
        return AsyncClient(self._url, key, retries=_RETRIES, transport=self._transport)

    async def close(self) -> None:
        """Close the connections to the gateway."""
        await self._transport.aclose()

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        try:
            return ListToolsResult(tools=shown(await self._client_of(context).tasks()))
        except TurnwiseError as error:
            raise MCPError(code=INTERNAL_ERROR, message=_told(error, context)) from error

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        try:
            outcome = await self._outcome(context, params)
        except TurnwiseError as error:
            return refused(_told(error, context))
        if outcome.question is not None and not _declined(params) and _may_ask(context) and _calls_again(context):
            return _input_required(outcome.run_id, outcome.question)
        return answered(outcome)

    async def _outcome(self, context: Context, params: CallToolRequestParams) -> CallOutcome:
        client = self._client_of(context)
        # A run that was only looked at does not end with the look.
        call = Call(client, _Client(context), lambda: self.stopping or params.name == RESULT)
        if params.name == RESULT:
            look = self._waiting(read(ResultArguments, params.arguments))
            return await _resumed(call, params, look.wait) or await call.result(look)
        if params.name == ANSWER:
            given = self._waiting(read(AnswerArguments, params.arguments))
            return await _resumed(call, params, given.wait) or await call.answer(given)
        task = tasks_by_tool(await client.tasks()).get(params.name)
        if task is None:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name!r}; list the tools")
        arguments = self._waiting(read(TaskArguments, params.arguments))
        return await _resumed(call, params, arguments.wait) or await call.begin(task.name, arguments)

    def _waiting(self, given: Arguments) -> Arguments:
        return given if given.wait is not None else given.model_copy(update={"wait": self._wait})

    def _client_of(self, context: Context) -> AsyncClient:
        headers = getattr(context.request, "headers", None)
        if headers is None:
            return self.client(self._key)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return self.client(key.strip() if scheme.lower() == "bearer" else None)


class _Client:
    """The client of the protocol that made the call."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def progress(self, turns: int, message: str) -> None:
        """Tell the client, if it asked to be told."""
        await self._context.session.report_progress(turns, None, message)

    async def ask(self, question: OpenQuestion) -> str | None:
        """Ask the client's user within the call, where the protocol has it so."""
        if _calls_again(self._context) or not _may_ask(self._context):
            return None
        try:
            response = await self._context.session.elicit_form(question.text, _FORM, self._context.request_id)
        except (MCPError, ValidationError):  # the client refuses, or answers what is no answer
            return None
        return _answer_in(response)


def _told(error: TurnwiseError, context: Context) -> str:
    """The error in words that help whoever has configured the client."""
    if isinstance(error, UnauthorizedError) and getattr(context.request, "headers", None) is None:
        return f"{error}; set TURNWISE_API_KEY in the environment that the client gives to `turnwise mcp`"
    return str(error)


async def _resumed(call: Call, params: CallToolRequestParams, wait: float | None) -> CallOutcome | None:
    """Continue a call that ended with a question; None for any other call."""
    if params.request_state is None:
        return None
    try:
        state = json.loads(params.request_state)
        run_id, question = str(state["run"]), str(state["question"])
    except (ValueError, TypeError, KeyError) as error:
        raise MCPError(code=INVALID_PARAMS, message="the request state is not one of this server's") from error
    return await call.resume(run_id, question, _answer_of(params), wait)


def _input_required(run_id: str, question: OpenQuestion) -> InputRequiredResult:
    # The state is not signed: who changes it can only name another run that the same key may answer.
    return InputRequiredResult(
        input_requests={
            _FIELD: ElicitRequest(params=ElicitRequestFormParams(message=question.text, requested_schema=_FORM))
        },
        request_state=json.dumps({"run": run_id, "question": question.id}),
    )


def _calls_again(context: Context) -> bool:
    return is_version_at_least(context.protocol_version, _CALLS_AGAIN)


def _may_ask(context: Context) -> bool:
    """Return whether the client shows forms to its user; one that names no form of asking does."""
    capabilities = context.session.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


def _declined(params: CallToolRequestParams) -> bool:
    return params.input_responses is not None and _answer_of(params) is None


def _answer_of(params: CallToolRequestParams) -> str | None:
    response = (params.input_responses or {}).get(_FIELD)
    return _answer_in(response) if isinstance(response, ElicitResult) else None


def _answer_in(response: ElicitResult) -> str | None:
    """Return the human's answer; None from one who gave none."""
    given = (response.content or {}).get(_FIELD) if response.action == "accept" else None
    return None if given is None else str(given)
