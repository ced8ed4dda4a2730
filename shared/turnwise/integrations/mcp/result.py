"""The result of a server's tool, as a message."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any, Self

from turnwise.messages.document import ChatDocument
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.signals import escape_signals
from turnwise.messages.wire import encode_value
from turnwise.models.file_attachment import FileAttachment


class ServerAnswer(str):
    """The text of an answer; `files` are what came with it, `value` its structured content, None for none."""

    files: list[Any]
    value: Any

    def __new__(cls, text: str, files: list[Any] | None = None, value: Any = None) -> Self:
        answer = super().__new__(cls, text)
        answer.files, answer.value = files or [], value
        return answer

    @classmethod
    def of_failure(cls, tool: str, text: str) -> Self:
        """The answer that tells the model of a tool that failed."""
        return cls(f"ERROR: the tool `{tool}` failed: {text}")


def as_document(agent: HandlingAgent, answer: ServerAnswer) -> ChatDocument:
    """The answer as a message of the agent; structured content is kept as `content_any`.

    The agent says what a stranger wrote: no task reads a signal in its text, and no one looks for tools in it. Called
    where the tool is handled, for the signals are those of the tasks around.
    """
    text = str(answer)
    value = answer.value if answer.value is not None else text
    document = agent.create_agent_response(escape_signals(text), content_any=value)
    document.metadata.quoted = True
    document.files = list(answer.files)
    return document


def answer_of(tool: str, result: Any, *, forward_images: bool) -> ServerAnswer:
    """The texts of the result, one after the other, with its files and structured content.

    Images, audio and other data are files, each as a dict of `type`, `mime_type` and base64 `data` (and `uri`, if it
    has one), or images as attachments for the model, unless their data cannot be read; the text says that they are
    there. Structured content that no record can hold is left out, and the text says so: a served run would else fail
    after the tool has done its work. A result that reports an error is a text that says so.
    """
    parts: list[str] = []
    files: list[Any] = []
    for block in result.content:
        text, file = _read(block)
        parts.append(text)
        if file is not None:
            attachment = _attachment(file) if forward_images and file["type"] == "image" else None
            files.append(file if attachment is None else attachment)
    value = result.structured_content
    if not parts and value is not None:
        parts.append(json.dumps(value))
    if (fault := _fault_in(value)) is not None:
        parts.append(f"(The structured content is left out: {fault}.)")
        value = None
    text = "\n".join(part for part in parts if part.strip()) or "(The tool returned nothing.)"
    return ServerAnswer.of_failure(tool, text) if result.is_error else ServerAnswer(text, files, value)


def _fault_in(value: Any) -> str | None:
    """Say why a message that crosses processes cannot hold the value; None if it can."""
    try:
        encode_value(value, "it")
    except TypeError as error:
        return str(error)
    return None


def _attachment(file: dict[str, str]) -> FileAttachment | None:
    """Return the image for a model; None if its data is not base64."""
    try:
        # Some servers break it into lines.
        content = b64decode("".join(file["data"].split()), validate=True)
    except ValueError:
        return None
    return FileAttachment.from_bytes(content, mime_type=file["mime_type"])


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
