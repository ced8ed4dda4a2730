"""The content of a message, as texts; taken at once, because documents may still be changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from turnwise.base.tool_json import NOT_ARGUMENTS
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.log_fields import ChatDocLoggerFields
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.wire import encode_tool
from turnwise.models.base import LLMFunctionCall


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSaid:
    """A tool or call in a message: its name, its fields as indented JSON; `written` if they are in the text, too."""

    name: str
    fields: str
    written: bool

    @property
    def line(self) -> str:
        """The tool in one line."""
        compact = " ".join(part.strip() for part in self.fields.splitlines())
        return f"{self.name} {compact}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A message's line in a log (`fields`), its tools, its results of API calls as (call id, text), the model's
    reasoning, how many files came with it, and whether it was from a cache."""

    fields: ChatDocLoggerFields
    tools: tuple[ToolSaid, ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    files: int = 0
    cached: bool = False

    @property
    def text(self) -> str:
        """All of it: the text, then the tools that are not in it, then the results."""
        parts = [self.fields.content] if self.fields.content.strip() else []
        parts += [tool.line for tool in self.tools if not tool.written]
        parts += [text if len(self.results) == 1 else f"{call}: {text}" for call, text in self.results]
        return "\n".join(parts)


def said(document: ChatDocument) -> Said:
    """Return what the document says now."""
    return Said(
        fields=document.log_fields(),
        tools=tuple(_tools(document)),
        results=tuple((document.oai_tool_id2result or {}).items()),
        reasoning=document.reasoning,
        files=len(document.files),
        cached=document.metadata.cached,
    )


def _tools(document: ChatDocument) -> Iterator[ToolSaid]:
    """API calls, attached tools, or else the tools that stand in the text."""
    calls = [call.function for call in document.oai_tool_calls or () if call.function is not None]
    calls = calls or ([document.function_call] if document.function_call is not None else [])
    for call in calls:
        yield ToolSaid(name=call.name, fields=_arguments(call), written=False)
    called = {call.name for call in calls}
    in_text = set(document.get_json_tools())
    by_model = document.metadata.sender is Entity.LLM and not calls and bool(document.content.strip())
    attached = [tool for tool in document.tool_messages if tool.request not in called]
    for tool in attached:
        yield ToolSaid(name=tool.request, fields=_fields(tool), written=by_model or tool.request in in_text)
    if not attached and not calls:
        for found in document.json_objects():
            if "request" in found:
                yield ToolSaid(name=str(found["request"]), fields=_indented(found), written=True)


def _arguments(call: LLMFunctionCall) -> str:
    return call.raw if call.arguments is None and call.raw else _indented(call.arguments or {})


def _fields(tool: ToolMessage) -> str:
    try:
        return _indented(_without_places(encode_tool(tool)))
    except TypeError:
        # It holds what could not cross a process; a log shows how it calls itself.
        return _indented(to_jsonable_python(dict(tool), fallback=repr, inf_nan_mode="strings"))


def _without_places(value: Any) -> Any:
    """The JSON of a tool without what only programs need, to read a model in it again."""
    if isinstance(value, dict):
        return {name: _without_places(item) for name, item in value.items() if name not in ("$model", "$fields")}
    return [_without_places(item) for item in value] if isinstance(value, list) else value


def _indented(fields: Mapping[str, Any]) -> str:
    meant = {name: value for name, value in fields.items() if name not in NOT_ARGUMENTS}
    return json.dumps(meant, ensure_ascii=False, indent=2, default=repr)
