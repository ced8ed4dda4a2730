"""The part of a request that has to be equal on both sides."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .script import Request

# What a model is asked; the rest says how long an answer may be, how it is drawn, and how it travels.
_ASKED = ("model", "messages", "tools", "tool_choice", "functions", "function_call", "response_format")
# The same of a message: a name is for the model's eyes, not for the conversation.
_SAID = ("role", "content", "tool_calls", "function_call", "tool_call_id")
# Where each side's own words about tools begin, below what the program says.
_TOOL_WORDS = re.compile(
    r"\n\s*(?:=== |Whenever you address somebody|When you (?:are finished with your task|have finished), )"
)
# Below a system message that no user's follows, the reference's client puts one that no program wrote.
_STAND_IN = {"role": "user", "content": "Follow the above instructions."}
# Tools that come with each side, and how it asks for a recipient: in words of its own.
_BUILT_IN = ("recipient_message", "add_recipient", "done_tool", "send_tool", "forward_tool", "pass_tool", "task_tool")
_NO_RECIPIENT = re.compile(r"\s*(?:Please use the 'add_recipient' tool|Your message names no recipient)")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def normal(requests: Sequence[Request]) -> list[Request]:
    """The requests without what cannot be equal, or means the same.

    - Ids are numbered in the order in which they come up.
    - A field that is null, an empty list of tools, a choice of tools that is left to the model, a tool that is not
      strict, or an empty text beside tool calls is as good as none. Required fields have no order.
    - The arguments of a call need not repeat the tool's name.
    - Of a system message counts what the program says, without spaces at the ends. How to use tools, what built-in
      tools are for, and that a recipient is missing, each side says in words of its own.
    """
    names: dict[str, str] = {}
    return [_numbered(_asked(request), names) for request in requests]


def _asked(request: Request) -> Request:
    asked = {key: request[key] for key in _ASKED if key in request}
    messages = [_said(message) for message in request["messages"]]
    if len(messages) > 1 and messages[1] == _STAND_IN:
        del messages[1]
    if asked.get("tool_choice") == "auto":
        del asked["tool_choice"]
    tools = [tool | {"function": _offered(tool["function"])} for tool in asked.get("tools") or ()]
    return asked | {"messages": messages, "tools": tools}


def _said(message: dict[str, Any]) -> dict[str, Any]:
    said = {key: message[key] for key in _SAID if key in message}
    content = said.get("content")
    if isinstance(content, str):
        if said["role"] == "system":
            said["content"] = _TOOL_WORDS.split(content, maxsplit=1)[0].strip()
        elif _NO_RECIPIENT.match(content):
            said["content"] = "(a recipient is missing)"
    if said.get("tool_calls"):
        said["tool_calls"] = [call | {"function": _called(call["function"])} for call in said["tool_calls"]]
        said["content"] = content or None
    return said


def _called(function: dict[str, Any]) -> dict[str, Any]:
    arguments = json.loads(function["arguments"])
    if arguments.get("request") == function["name"]:
        del arguments["request"]
    return function | {"arguments": arguments}


def _offered(function: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(function.get("parameters") or {})
    if "required" in parameters:
        parameters["required"] = sorted(parameters["required"])
    offered = function | {"parameters": parameters, "strict": function.get("strict") or None}
    if function["name"] in _BUILT_IN:
        return {"name": function["name"], "fields": sorted(parameters.get("properties") or {})}
    return offered


def _numbered(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        kept = {key: _named(key, item, names) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != []}
    if isinstance(value, list):
        return [_numbered(item, names) for item in value]
    if isinstance(value, str):
        return _UUID.sub(lambda found: _name(found.group(), names), value)
    return value


def _named(key: str, value: Any, names: dict[str, str]) -> Any:
    if key in ("id", "tool_call_id") and isinstance(value, str):
        return _name(value, names)
    return _numbered(value, names)


def _name(found: str, names: dict[str, str]) -> str:
    return names.setdefault(found, f"id-{len(names) + 1}")
