"""The likeness of a text, a tool or a message to the recorded one, with every freedom that README.md grants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .record import (
    CallRecord,
    GoldenDocument,
    GoldenMessage,
    Mentions,
    ObservedDocument,
    ObservedMessage,
    PromptMessage,
    Text,
    ToolRecord,
    TypedValue,
)

_ENTITIES = ("AGENT", "LLM", "USER", "SYSTEM")
_DONE_TOOLS = ("done_tool", "agent_done_tool")


def same_name(golden: str, observed: str) -> bool:
    """Names of entities are the same in any case, those of tasks only in their own."""
    return golden == observed or (golden.upper() in _ENTITIES and golden.upper() == observed.upper())


def same_text(golden: Text, observed: Text) -> bool:
    """Equal but for white space; JSON by its value; a text of free wording by the words it must hold."""
    # A text that was observed is never of free wording.
    text = _squeezed(observed if isinstance(observed, str) else "")
    if isinstance(golden, Mentions):
        return bool(text) and all(word in text for word in golden.mentions)
    if _squeezed(golden) == text:
        return True
    value = _json_value(golden)
    return value is not None and value == _json_value(text)


def message_mismatches(golden: GoldenMessage, observed: ObservedMessage) -> list[str]:
    """The names of the parts in which the message is not the recorded one."""
    responder_is_free = golden.passed
    same_responder = same_name(golden.responder, observed.responder) or (
        golden.responder_as is not None and same_name(golden.responder_as, observed.responder)
    )
    checks = {
        "task": golden.task == observed.task,
        "responder": responder_is_free or same_responder,
        "sender": same_name(golden.sender, observed.sender),
        "recipient": same_name(golden.recipient, observed.recipient),
        "content": same_text(golden.content, observed.content),
        "tools": _same_tools(golden, observed),
        "status": golden.status == observed.status,
        "calls": golden.calls == observed.calls,
        "results": _same_results(golden.results, observed.results),
    }
    return [name for name, same in checks.items() if not same]


def document_mismatches(golden: GoldenDocument, observed: ObservedDocument) -> list[str]:
    checks = {
        "content": same_text(golden.content, observed.content),
        "tools": _same_tools(golden, observed),
        "status": golden.status == observed.status,
        "recipient": same_name(golden.recipient, observed.recipient),
        "content_any": golden.content_any == observed.content_any,
    }
    return [name for name, same in checks.items() if not same]


def prompt_mismatches(golden: PromptMessage, observed: PromptMessage) -> list[str]:
    checks = {
        "role": golden.role == observed.role,
        "content": same_text(golden.content, observed.content),
        "calls": golden.calls == observed.calls,
        "answers": golden.answers == observed.answers,
    }
    return [name for name, same in checks.items() if not same]


def same_typed_value(golden: TypedValue, observed: TypedValue) -> bool:
    if isinstance(golden.value, ToolRecord) and isinstance(observed.value, ToolRecord):
        return _same_tool(golden.value, observed.value)
    # `True == 1`, but a bool is not the int that was asked for.
    return type(golden.value) is type(observed.value) and golden.value == observed.value


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _json_value(text: str) -> Any:
    """The object or array that the text is as a whole, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _same_results(golden: dict[str, Text] | None, observed: dict[str, str] | None) -> bool:
    """The same ids in the same order, with the same texts."""
    golden, observed = golden or {}, observed or {}
    return list(golden) == list(observed) and all(same_text(text, observed[id]) for id, text in golden.items())


def _same_tools(golden: GoldenMessage | GoldenDocument, observed: ObservedMessage | ObservedDocument) -> bool:
    """Attached tools are compared; those that anyone could parse out of the message are not."""
    if golden.tools_found:
        return True
    attached = [tool for tool in observed.tools if not _is_found(tool, observed.content, observed.calls)]
    return _same_tool_lists(golden.tools, observed.tools) or _same_tool_lists(golden.tools, attached)


def _is_found(tool: ToolRecord, content: str, calls: Sequence[CallRecord]) -> bool:
    if tool.tool in content or any(call.name == tool.tool for call in calls):
        return True
    written = _json_value(content)
    return bool(tool.fields) and isinstance(written, dict) and _contains(tool.fields, written)


def _same_tool_lists(golden: Sequence[ToolRecord], observed: Sequence[ToolRecord]) -> bool:
    expected, found = _without_carried(golden), _without_carried(observed)
    return len(expected) == len(found) and all(map(_same_tool, expected, found))


def _without_carried(tools: Sequence[ToolRecord]) -> list[ToolRecord]:
    """Leaves out the tools that a done tool beside them carries."""
    carried = [inner for tool in tools if tool.tool in _DONE_TOOLS for inner in tool.fields.get("tools") or ()]
    return [tool for tool in tools if tool.model_dump() not in carried]


def _same_tool(golden: ToolRecord, observed: ToolRecord) -> bool:
    return golden.tool == observed.tool and _contains(golden.fields, observed.fields)


def _contains(part: Any, whole: Any) -> bool:
    """Return whether `whole` has all that `part` has: dicts may have more keys, all else is equal."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _contains(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_contains, part, whole))
    return bool(part == whole)
