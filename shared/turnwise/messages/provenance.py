"""The origin of a text, and the marks that derived texts inherit from it.

A tool that says on what it was given is no author: what it says is as trusted as what it worked on. The handler's
process marks its answers so, and the machine does it once more when it takes them in, whoever sent them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import ToolSets


def untrusted(doc: ChatDocument) -> bool:
    """Return whether tools in the message may come from a human."""
    meta = doc.metadata
    return meta.tainted or (not meta.tools_from_agent and meta.sender == Entity.USER)


def steers(tool: ToolMessage) -> bool:
    """Return whether the tool hands on what it was given: one of the library's own, or made of one."""
    return type(tool)._steers


def unpacked(answer: ChatDocument, handled: Iterable[ToolMessage], tools: ToolSets) -> bool:
    """Return whether the answer has a tool that was inside one of the `handled` ones, and that no model may use."""
    forbidden = [tool for tool in answer.tool_messages if tool.request not in tools.usable]
    return bool(forbidden) and any(inner in forbidden for tool in handled for inner in _within(tool))


def _within(value: Any) -> Iterator[ToolMessage]:
    """Yield all tools in the fields of a tool, however deep."""
    inner: Iterable[Any] = ()
    if isinstance(value, ToolMessage):
        inner = [*(getattr(value, name) for name in type(value).model_fields), *(value.model_extra or {}).values()]
    elif isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, (list, tuple)):
        inner = value
    for item in inner:
        if isinstance(item, ToolMessage):
            yield item
        yield from _within(item)
