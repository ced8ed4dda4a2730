"""What a server's tool returned, as a message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from turnwise.messages.document import ChatDocument

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def as_document(agent: ChatAgent, tool: str, result: Any) -> ChatDocument:
    """The texts of the result, one after the other; structured content is kept as `content_any`.

    Images, audio and other data go to `files`, each as a dict of `type`, `mime_type` and base64 `data` (and `uri`, if
    it has one); the text says that they are there. A result that reports an error is a text that says so.
    """
    parts: list[str] = []
    files: list[dict[str, str]] = []
    for block in result.content:
        text, file = _read(block)
        parts.append(text)
        if file is not None:
            files.append(file)
    value = result.structured_content
    if not parts and value is not None:
        parts.append(json.dumps(value))
    text = "\n".join(part for part in parts if part.strip()) or "(The tool returned nothing.)"
    if result.is_error:
        return agent.create_agent_response(f"ERROR: the tool `{tool}` failed: {text}")
    document = agent.create_agent_response(text, content_any=value if value is not None else text)
    document.files = list(files)
    return document


def _read(block: Any) -> tuple[str, dict[str, str] | None]:
    """A block as a text, and as a file if it is one."""
    if block.type == "text":
        return block.text, None
    if block.type == "resource_link":
        return f"[{block.name}: {block.uri}]", None
    if block.type == "resource":
        resource = block.resource
        if hasattr(resource, "text"):
            return resource.text, None
        return _file("resource", resource.mime_type or "", resource.blob, str(resource.uri))
    if block.type in ("image", "audio"):
        return _file(block.type, block.mime_type, block.data)
    return f"[{block.type}: not shown]", None


def _file(kind: str, mime_type: str, data: str, uri: str = "") -> tuple[str, dict[str, str]]:
    file = {"type": kind, "mime_type": mime_type, "data": data}
    kilobytes = max(1, len(data) * 3 // 4 // 1000)
    return f"[{kind} attached: {mime_type or 'data'}, {kilobytes} kB]", {**file, "uri": uri} if uri else file
