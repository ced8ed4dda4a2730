"""Shorter versions of messages, for the model only. The stored message stays whole."""

from __future__ import annotations

from turnwise.models.base import LLMFunctionCall, LLMMessage, OpenAIToolCall
from turnwise.models.tokens.estimate import beginning, estimated_tokens, message_tokens, shortened

# Tokens that are left of an old message.
KEPT_TOKENS = 30


def short(message: LLMMessage) -> LLMMessage:
    """The message with the beginning of its text and of its calls' arguments, and without files.

    It is the message itself where that saves nothing.
    A call stays a call with its id and its name, because its result refers to it, and its arguments stay JSON.
    """
    calls, function = message.tool_calls, message.function_call
    other = message.model_copy(
        update={
            "content": shortened(message.content, KEPT_TOKENS),
            "files": (),
            "tool_calls": [_short_call(call) for call in calls] if calls else calls,
            "function_call": _short_function(function) if function is not None else None,
        }
    )
    return other if message_tokens(other) < message_tokens(message) else message


def _short_call(call: OpenAIToolCall) -> OpenAIToolCall:
    if call.function is None:
        return call
    return call.model_copy(update={"function": _short_function(call.function)})


def _short_function(function: LLMFunctionCall) -> LLMFunctionCall:
    arguments = function.written
    if estimated_tokens(arguments) <= KEPT_TOKENS:
        return function
    return function.model_copy(update={"arguments": {"truncated": beginning(arguments, KEPT_TOKENS)}, "raw": None})
