"""Messages and events as short lines for people; the functions take the JSON of the HTTP interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnwise.base.money import dollars
from turnwise.base.tool_json import arguments_of

if TYPE_CHECKING:
    from pydantic import BaseModel

Json = Mapping[str, Any]


def as_json(view: BaseModel) -> dict[str, Any]:
    """Return the JSON that the gateway sent as `view`: what the terminal shows, and what `--json` prints."""
    return view.model_dump(mode="json", by_alias=True, exclude_unset=True)


def document_text(document: Json | None) -> str:
    """Return what the document says: its tools as `name(field=value)`, or its text."""
    if not document:
        return ""
    tools = [tool_text(tool) for tool in document.get("tool_messages", [])]
    calls = [_call_text(call) for call in document.get("oai_tool_calls") or []]
    if tools or calls:
        return " ".join(tools or calls)
    text = str(document.get("content") or "")
    return _tool_in(text) or text


def tool_text(tool: Json) -> str:
    """A tool's JSON as `name(field=value, ...)`, without what is empty."""
    name = tool.get("$tool") or tool.get("request") or "?"
    fields = (f"{key}={_value(value)}" for key, value in arguments_of(tool).items() if value not in ("", None, [], {}))
    return f"{name}({', '.join(fields)})"


def speaker(document: Json | None) -> str:
    """Return who wrote the document: the agent or task, and which responder of it."""
    metadata = (document or {}).get("metadata", {})
    entity, name = str(metadata.get("sender", "User")), str(metadata.get("sender_name", ""))
    return f"{name} ({entity})" if name and name != entity else entity


def money(cost: object) -> str:
    """US dollars as people read them; a dash where no price is known."""
    return dollars(None if cost is None else Decimal(str(cost)))


def _call_text(call: Json) -> str:
    function = call.get("function") or {}
    arguments = function.get("arguments") or {}
    return tool_text({"request": function.get("name"), **(arguments if isinstance(arguments, dict) else {})})


def _tool_in(text: str) -> str:
    """A text that is a tool's JSON and nothing else, as the tool; "" for any other."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return ""
    try:
        found = json.loads(stripped)
    except json.JSONDecodeError:
        return ""
    return tool_text(found) if isinstance(found, dict) and isinstance(found.get("request"), str) else ""


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | dict | list) else str(value)
