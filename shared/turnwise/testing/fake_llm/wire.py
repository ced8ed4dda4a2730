"""Answers in the form of the chat-completions API, whole and streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.request import ChatRequest

Json = dict[str, Any]
_CHARS_PER_TOKEN = 4
_PER_MESSAGE = 4


def completion(request: ChatRequest, answer: Answer) -> Json:
    """The body of an answer; the same request and answer make the same body, ids included."""
    content, cut = _within_limit(answer.content, request.output_limit)
    message: Json = {"role": "assistant", "content": content}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    finish = "length" if cut else "stop"
    if answer.tool_calls and not cut:
        if request.functions and not request.tools:
            message["function_call"] = _function(answer, 0)
            finish = "function_call"
        else:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{request.digest}_{index}",
                    "type": "function",
                    "function": _function(answer, index),
                }
                for index, call in enumerate(answer.tool_calls)
            ]
            finish = "tool_calls"
    return {
        "id": f"chatcmpl-{request.digest}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage(request, message),
    }


def prompt_tokens(request: ChatRequest) -> int:
    """Estimated tokens of what is asked."""
    asked = json.dumps([request.messages, request.tools, request.functions])
    return -(-len(asked) // _CHARS_PER_TOKEN) + _PER_MESSAGE * len(request.messages)


def usage(request: ChatRequest, message: Json) -> Json:
    """Estimated tokens: a quarter of the characters, and some for each message."""
    prompt = prompt_tokens(request)
    said = [message.get("content") or "", message.get("reasoning_content") or ""]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    if "function_call" in message:
        calls.append(message["function_call"])
    said += [call["name"] + call["arguments"] for call in calls]
    answered = -(-sum(map(len, said)) // _CHARS_PER_TOKEN)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answered,
        "total_tokens": prompt + answered,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def chunks(request: ChatRequest, answer: Answer) -> Iterator[Json]:
    """The same answer in pieces; usage comes last, if the request asks for it."""
    whole = completion(request, answer)
    choice = whole["choices"][0]
    message = choice["message"]
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for name in ("reasoning_content", "content"):
        for piece in _pieces(message.get(name) or ""):
            yield chunk({name: piece})
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        yield chunk({"tool_calls": [call | {"index": index, "function": function | {"arguments": ""}}]})
        for piece in _pieces(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if function := message.get("function_call"):
        yield chunk({"function_call": function | {"arguments": ""}})
        for piece in _pieces(function["arguments"]):
            yield chunk({"function_call": {"arguments": piece}})
    yield chunk({}, choice["finish_reason"])
    if (request.stream_options or {}).get("include_usage"):
        yield head | {"choices": [], "usage": whole["usage"]}


def _within_limit(content: str | None, limit: int | None) -> tuple[str | None, bool]:
    if content is None or limit is None or len(content) <= limit * _CHARS_PER_TOKEN:
        return content, False
    return content[: limit * _CHARS_PER_TOKEN], True


def _function(answer: Answer, index: int) -> Json:
    call = answer.tool_calls[index]
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return {"name": call.name, "arguments": raw}


def _pieces(text: str) -> Iterator[str]:
    """Words with the space before them, so that a reader sees text grow."""
    return (match.group() for match in re.finditer(r"\s*\S+\s*$|\s*\S+|\s+", text))
