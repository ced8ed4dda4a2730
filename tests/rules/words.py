"""The words of scripted models: tools as text, and calls of the API."""

from __future__ import annotations

import json
from typing import Any

from turnwise import LLMFunctionCall, LLMResponse, OpenAIToolCall


def tool(request: str, **fields: Any) -> str:
    """A tool as a model writes it in its text."""
    return json.dumps({"request": request, **fields})


def call(call_id: str, name: str, **arguments: Any) -> OpenAIToolCall:
    """One API call of a tool."""
    return OpenAIToolCall(id=call_id, function=LLMFunctionCall(name=name, arguments=arguments))


def calls(*made: OpenAIToolCall, text: str | None = None) -> LLMResponse:
    """A model's answer that consists of API calls, with or without a text."""
    return LLMResponse(message=text, oai_tool_calls=list(made))


def function(name: str, **arguments: Any) -> LLMResponse:
    """A model's answer with the deprecated kind of call."""
    return LLMResponse(message=None, function_call=LLMFunctionCall(name=name, arguments=arguments))
