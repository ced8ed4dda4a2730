"""A model's answer as it is taken in: with calls and texts that every reader of the conversation can read."""

from __future__ import annotations

import json
import sys

from turnwise.base.ids import new_id
from turnwise.base.json_bounds import as_unicode, fault_in, is_unicode
from turnwise.models.base import LLMFunctionCall, LLMResponse, OpenAIToolCall


def taken(response: LLMResponse) -> LLMResponse:
    """The answer; arguments that are out of bounds become text (`raw`), of which the model is told what is wrong.

    All calls get ids, and several ones that differ: servers may repeat one, or give none, and results belong to a call
    by its id.
    """
    if not response.oai_tool_calls and response.function_call is None and _plain(response):
        return response  # as nearly all answers are
    changed = {
        "message": None if response.message is None else as_unicode(response.message),
        "reasoning": as_unicode(response.reasoning),
        "model": as_unicode(response.model),
        "oai_tool_calls": response.oai_tool_calls and _told_apart([_call(call) for call in response.oai_tool_calls]),
        "function_call": response.function_call and _function(response.function_call),
    }
    different = {name: value for name, value in changed.items() if value != getattr(response, name)}
    return response.model_copy(update=different) if different else response


def _plain(response: LLMResponse) -> bool:
    return is_unicode(response.message or "") and is_unicode(response.reasoning) and is_unicode(response.model)


def _call(call: OpenAIToolCall) -> OpenAIToolCall:
    function = call.function and _function(call.function)
    id = None if call.id is None else as_unicode(call.id)
    if function is call.function and id == call.id:
        return call
    return call.model_copy(update={"function": function, "id": id})


def _told_apart(calls: list[OpenAIToolCall]) -> list[OpenAIToolCall]:
    ids = {call.id for call in calls if call.id}
    if len(ids) == len(calls):
        return calls
    told = []
    for call in calls:
        if call.id in ids:  # the first call that has it
            ids.remove(call.id)
            told.append(call)
        else:
            told.append(call.model_copy(update={"id": new_id("call")}))
    return told


def _function(call: LLMFunctionCall) -> LLMFunctionCall:
    name, raw, arguments = as_unicode(call.name), call.raw and as_unicode(call.raw), call.arguments
    if fault_in(arguments) is not None:
        arguments, raw = None, _as_text(arguments)
    if name == call.name and raw == call.raw and arguments is call.arguments:
        return call
    return LLMFunctionCall(name=name, arguments=arguments, raw=raw)


def _as_text(arguments: object) -> str:
    try:
        return json.dumps(arguments)
    except (ValueError, RecursionError):
        # Nested deeper than can be written down. The model is told so, for which this is as good as the whole.
        return "[" * sys.getrecursionlimit()
