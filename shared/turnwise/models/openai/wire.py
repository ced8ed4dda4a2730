"""Requests and responses of the chat-completions API, as plain JSON values; no I/O."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from turnwise.base.near_json import read_near_json
from turnwise.errors import ModelError, ModelUnavailableError
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.base import (
    LLMFunctionCall,
    LLMMessage,
    LLMResponse,
    OpenAIToolCall,
    ResponseFormat,
    ToolChoice,
)
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.content_parts import parts_of
from turnwise.models.openai.error_statuses import ToldError, told_error
from turnwise.models.openai.hints import address_hint
from turnwise.models.tokens.usage import reported

Json = dict[str, Any]

# The reasons to finish of OpenRouter and Mistral, and of DeepSeek, for an answer that its server could not end.
_INTERRUPTED = ("error", "insufficient_system_resource")
# Those of an answer that reached its limit, or its model's (Mistral), or that a filter cut.
_CUT = ("length", "model_length", "content_filter")


def request_body(
    config: OpenAIGPTConfig,
    messages: Sequence[LLMMessage],
    max_tokens: int,
    tools: ToolChoice | None,
    *,
    watched: bool = False,
) -> Json:
    """The body of `POST /chat/completions`; what is not set is left to the server.

    `watched`: someone takes the pieces of the answer, so it is streamed unless the configuration forbids it.
    """
    model, as_written = config.known_model, config.takes_any_arguments
    body: Json = {
        "model": config.served_model,
        "messages": [message.api_dict(model, as_written=as_written) for message in messages],
        config.limit_field: max_tokens,
    }
    for name in ("temperature", "seed"):
        if (value := getattr(config, name)) is not None:
            body[name] = value
    if tools is not None and tools.tools:
        body.update(_legacy_functions(tools) if tools.legacy else _tools(tools, config.parallel_tool_calls))
    if tools is not None and tools.response_format is not None:
        body["response_format"] = _response_format(tools.response_format)
    if watched if config.stream is None else config.stream:
        body["stream"] = True
        if config.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body | config.sent_params


def _tools(tools: ToolChoice, parallel: bool | None) -> Json:
    strict = {spec.name: {"strict": True} for spec in tools.tools if spec.name in tools.strict}
    specs = [spec.model_dump() | strict.get(spec.name, {}) for spec in tools.tools]
    body: Json = {"tools": [{"type": "function", "function": spec} for spec in specs]}
    if tools.choice in ("none", "required"):
        body["tool_choice"] = tools.choice
    elif tools.choice != "auto":  # auto is the default, and some servers refuse it in so many words
        body["tool_choice"] = {"type": "function", "function": {"name": tools.choice}}
    if parallel is not None:
        body["parallel_tool_calls"] = parallel
    return body


def _response_format(wanted: ResponseFormat) -> Json:
    named = {"name": wanted.name, "strict": wanted.strict, "schema": wanted.json_schema}
    if wanted.description:
        named["description"] = wanted.description
    return {"type": "json_schema", "json_schema": named}


def _legacy_functions(tools: ToolChoice) -> Json:
    body: Json = {"functions": [spec.model_dump() for spec in tools.tools]}
    choice = tools.choice
    if choice == "required":  # the old API has no such word; with one function its name says the same
        choice = tools.tools[0].name if len(tools.tools) == 1 else "auto"
    if choice == "none":
        body["function_call"] = "none"
    elif choice != "auto":
        body["function_call"] = {"name": choice}
    return body


class AnswerBody(Protocol):
    """An HTTP answer, as far as its body is concerned."""

    @property
    def content(self) -> bytes:
        """The body as it came."""
        ...

    @property
    def text(self) -> str:
        """The body as text."""
        ...


def plain_json(answer: AnswerBody) -> object:
    """The body of an answer as JSON, or as text where it is none."""
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return answer.text


def parse_completion(body: object, config: OpenAIGPTConfig, limits: RateLimits | None = None) -> LLMResponse:
    """The answer in a completion; raises `ModelUnavailableError` if `body` is none.

    A body that tells an error, or an answer that its server broke off, raises the `ModelError` of an answer with that
    status; `limits` is what the provider announced with it.

    `usage.cost` is left at None: prices are another matter. `usage` counts one call, even where the server told
    no tokens.
    """
    try:
        if not isinstance(body, dict):
            raise TypeError(f"a JSON {type(body).__name__}")
        if (error := _told_error(body, limits, config)) is not None:
            raise error
        choice = body["choices"][0]
        message = choice["message"]
        cut = choice.get("finish_reason") in _CUT
        text, thoughts = parts_of(message.get("content"))
        return LLMResponse(
            refused=_refused(choice, message),
            message=_text(message, text),
            reasoning=message.get("reasoning_content") or message.get("reasoning") or thoughts,
            oai_tool_calls=[_tool_call(call, cut) for call in message.get("tool_calls") or ()] or None,
            function_call=_function(message["function_call"], cut) if message.get("function_call") else None,
            usage=reported(body.get("usage")),
            model=body.get("model") or "",
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as fault:
        found = json.dumps(body, default=str)[:300]
        raise ModelUnavailableError(
            f"the model server's answer is not a chat completion ({type(fault).__name__}: {fault}): {found}; "
            f"check {address_hint(config)}, which usually ends with /v1",
            may_have_cost=True,
            outage=False,
        ) from fault


def _told_error(body: Json, limits: RateLimits | None, config: OpenAIGPTConfig) -> ModelError | None:
    """The error that a body tells in place of an answer, or of one that its server broke off; None without one."""
    choice = body["choices"][0] if body.get("choices") else {}
    reason = choice.get("finish_reason")
    broken = reason in _INTERRUPTED
    error = choice.get("error") or (body.get("error") if broken or not choice else None)
    if not error and not broken:
        return None
    who = f"model {config.chat_model} at {config.base_url}"
    if not error:
        return ModelUnavailableError(f"{who} broke its answer off, with the finish reason {reason}", may_have_cost=True)
    told = ToldError.of(error)
    return told_error(told, f"{who} answered with {told.name}: {told.reason}", limits, config, outage=broken)


def _text(message: Json, content: str) -> str | None:
    text = content or message.get("refusal")
    if not text and (message.get("tool_calls") or message.get("function_call")):
        return None
    return text or ""


def _refused(choice: Json, message: Json) -> bool:
    if message.get("tool_calls"):
        return False
    if choice.get("finish_reason") == "content_filter":  # also where it let the beginning through
        return True
    return bool(message.get("refusal")) and not message.get("content")


def _tool_call(call: Json, cut: bool) -> OpenAIToolCall:
    function = _function(call["function"], cut)
    id = call.get("id")
    if isinstance(id, int):  # not what the API says, but some servers do
        id = str(id)
    return OpenAIToolCall(id=id, type=call.get("type") or "function", function=function)


def _function(function: Json, cut: bool) -> LLMFunctionCall:
    """Return the call; `cut` says that the answer ended before its end, so that arguments may be missing."""
    name, raw = function["name"], function.get("arguments")
    if isinstance(raw, dict):  # not what the API says, but some servers do
        return LLMFunctionCall(name=name, arguments=raw)
    if not raw or (isinstance(raw, str) and raw.strip() in ("", "null")):
        # Some servers leave out what is empty.
        return LLMFunctionCall(name=name, raw="") if cut else LLMFunctionCall(name=name, arguments={})
    try:
        arguments = read_near_json(raw)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return LLMFunctionCall(name=name, raw=str(raw))
    return LLMFunctionCall(name=name, arguments=arguments)
