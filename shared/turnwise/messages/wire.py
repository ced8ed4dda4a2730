"""Documents as JSON, and back: every field, every tool with its class, every mark of provenance.

A tool is written with its name and all the fields of its class (extra ones too). It is read through a registry, name
to class; a tool of an unknown name is kept as raw fields, untouched, so that it can travel on, but is not handled.
Where agents know different tools by one name, the writer is told the `owners` of those that do not have the name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, RootModel, SerializeAsAny, TypeAdapter, ValidationError

from turnwise.base.json_bounds import MAX_DEPTH, MAX_NUMBER
from turnwise.base.places import found_at, is_found, place_of
from turnwise.base.text import value_as_text
from turnwise.base.tool_json import MARKS
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.own_serializers import (
    comes_back,
    encoded_fields,
    has_own_form,
    has_serializers,
    kept_fields,
    own_form,
)
from turnwise.messages.read_back import read_back
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_registry import place_of_tool
from turnwise.messages.tools.orchestration import AgentDoneTool, text_of
from turnwise.models.file_attachment import FileAttachment

# Bytes of an attached file; it is stored with its message, and with the history of whoever is sent it.
MAX_FILE_BYTES = 10_000_000

# From a tool's name to its class, as `ToolRegistry` has it.
Registry = Mapping[str, type[ToolMessage]]
# From a tool's class to the agent that knows it, where another one has its name.
Owners = Mapping[type[ToolMessage], str]
_NO_OWNERS: Owners = {}


class UnknownTool(ToolMessage):
    """A tool whose class this process does not have; keeps the fields as they came."""

    model_config = ConfigDict(extra="allow")
    request: str
    purpose: str = ""


# Fields that may hold values of any kind.
_SPECIAL = {"tool_messages", "content_any", "attachment", "files"}
_SEPARATE = _SPECIAL | {"metadata"}
_ID = {"id"}
_any_json: TypeAdapter[Any] = TypeAdapter(SerializeAsAny[Any])


def encode_document(doc: ChatDocument, owners: Owners = _NO_OWNERS) -> dict[str, Any]:
    """The document as JSON-able data; raises `TypeError` naming what cannot cross a process."""
    body = doc.model_dump(
        mode="json",
        exclude=_SEPARATE,
        exclude_defaults=True,
    )
    # By themselves, and without the id: to compare with the default, pydantic would make one, with a fresh id.
    marks = ChatDocMetaData.__pydantic_serializer__.to_python(
        doc.metadata, mode="json", exclude=_ID, exclude_defaults=True
    )
    body["metadata"] = {"id": doc.metadata.id, **marks}
    if doc.tool_messages:
        body["tool_messages"] = [encode_tool(tool, owners) for tool in doc.tool_messages]
    is_enum = isinstance(doc.content_any, Enum)
    if doc.content_any is not None and (is_enum or doc.content_any != doc.content):
        body["content_any"] = encode_value(doc.content_any, "content_any", owners, named=is_enum)
    elif doc.content_any is None and doc.content:
        body["content_any"] = None  # where the key is absent it is read as the text
    if doc.attachment is not None:
        body["attachment"] = encode_value(doc.attachment, "attachment", owners)
    if doc.files:
        body["files"] = [encode_value(item, "files", owners) for item in doc.files]
    return body


def decode_document(
    body: Mapping[str, Any],
    registry: Registry,
    find_parent: Callable[[str], ChatDocument | None] | None = None,
) -> ChatDocument:
    """The document written by `encode_document`; `find_parent` looks up what it answers when someone asks."""
    data = dict(body)
    if "tool_messages" in body:
        data["tool_messages"] = [decode_tool(item, registry) for item in body["tool_messages"]]
    for key in ("attachment", "files", "content_any"):
        if key in body:
            data[key] = decode_value(body[key], registry)
    if "content_any" not in body:
        data["content_any"] = body.get("content") or None
    doc = ChatDocument.model_validate(data)
    object.__setattr__(doc, "_find_parent", find_parent)  # a slot, which pydantic takes long to set
    return doc


def encode_tool(tool: ToolMessage, owners: Owners = _NO_OWNERS) -> dict[str, Any]:
    """A tool's fields, with tools nested in it marked so that they are found again.

    "$tool" names the class, which is not always what the tool calls itself: a model, or a human, may write any
    `request` into a tool that stands in another's field. It is null for a tool of no class but `ToolMessage`.
    "$agent" is the owner of a class that does not have its name to itself. "$text" is the text of a done tool's content
    where its JSON has another one, as for a date or a set. "$fields" has the fields whose names begin with "$". Of a
    tool that writes the given fields alone it repeats the null ones: an earlier version wrote null for the others.
    """
    if isinstance(tool, UnknownTool):
        kind = (tool.model_extra or {}).get("$tool", tool.request)
        return {"$tool": kind, **tool.model_dump(mode="json", exclude={"$tool"})}
    names = [*type(tool).model_fields, *(tool.model_extra or ())]
    if not tool._writes_unset:
        names = [name for name in names if name in tool.model_fields_set | tool.common_fields]
    fields = _encode_fields(tool, names, tool.request, owners)
    marked = {name: fields.pop(name) for name in list(fields) if name.startswith("$")}
    if not tool._writes_unset:
        marked |= {name: None for name, value in fields.items() if value is None}
    kind = None if type(tool) is ToolMessage else type(tool).name() or tool.request
    data = {"$tool": kind, **fields, **({"$fields": marked} if marked else {})}
    if owners and (owner := owners.get(type(tool))) is not None:
        data["$agent"] = owner
    if isinstance(tool, AgentDoneTool) and value_as_text(decode_value(data["content"], {})) != (text := text_of(tool)):
        data["$text"] = text
    return data


def _encode_fields(
    model: BaseModel, names: Iterable[str], place: str, owners: Owners, depth: int = MAX_DEPTH
) -> dict[str, Any]:
    """The fields of a model as they are: no serializer of its class counts.

    Where only the value says which class it has, that is named; of a field of another type, the class of the model
    tells.
    """
    kind, extra = type(model), model.model_extra or {}
    named, encoded = _open_fields(kind), encoded_fields(kind)
    fields = {}
    for name in names:
        at = f"{place}.{name}"
        value = getattr(model, name)
        if name in encoded:
            value = own_form(kind, name, value)
        try:
            fields[name] = encode_value(value, at, owners, depth, named=name in extra or name in named)
        except TypeError:
            if not has_own_form(kind, name):
                raise
            # Of a type that only the program knows how to write.
            fields[name] = encode_value(own_form(kind, name, value), at, owners, depth)
    return fields


@lru_cache(maxsize=4_096)
def _open_fields(kind: type[BaseModel]) -> frozenset[str]:
    """Return the fields that may hold a value of any class."""
    return frozenset(name for name, field in kind.model_fields.items() if _holds_any(field.annotation))


def _holds_any(annotation: Any) -> bool:
    return annotation is Any or any(_holds_any(part) for part in get_args(annotation))


def decode_tool(data: Mapping[str, Any], registry: Registry) -> ToolMessage:
    """The tool written by `encode_tool`; an `UnknownTool` where the registry has no such name.

    Not for tools from outside: what a tool's own validators refuse is refused where a model or a person writes it.
    """
    kind = data.get("$tool", data.get("request", ""))
    tool_class = ToolMessage if kind is None else _tool_class(str(kind), data.get("$agent"), registry)
    if tool_class is None:
        return UnknownTool(**{"request": str(kind), **dict(data)})
    plain = {key: value for key, value in data.items() if key not in MARKS}
    if not tool_class._writes_unset:
        plain = {key: value for key, value in plain.items() if value is not None or not _is_optional(tool_class, key)}
    fields = {**plain, **data.get("$fields", {})}
    decoded = {key: decode_value(value, registry) for key, value in fields.items()}
    if tool_class._unaddressed is not None and "recipient" not in decoded:  # made by a handler, not by the model
        tool_class = tool_class._unaddressed
    tool = read_back(tool_class, decoded, serialized=False)
    if isinstance(tool, AgentDoneTool) and "$text" in data:
        tool._read = (tool.content, data["$text"])
    return tool


def _is_optional(tool_class: type[ToolMessage], name: str) -> bool:
    field = tool_class.model_fields.get(name)
    return field is not None and not field.is_required()


def _tool_class(name: str, owner: str | None, registry: Registry) -> type[ToolMessage] | None:
    found = registry.get(place_of_tool(name, owner)) if owner is not None else None
    return found or registry.get(name)


def encode_value(
    value: Any, place: str, owners: Owners = _NO_OWNERS, depth: int = MAX_DEPTH, *, named: bool = False
) -> Any:
    """A value of any kind as JSON-able data; raises `TypeError` naming `place` for one that cannot cross a process.

    That is also one that is nested deeper than `depth` levels, or a number that not every reader knows. `named`: with
    each pydantic model and enum goes where its class is found, so that it is read as that model or member.
    """
    if depth < 0:
        raise TypeError(f"{place} is nested deeper than {MAX_DEPTH} levels; make it flatter, or return it as text")
    if named and isinstance(value, Enum) and is_found(type(value)):
        return {
            "$enum": place_of(type(value)),
            "name": value.name,
            "value": encode_value(value.value, place, owners, depth - 1),
        }
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{place} holds {value}, which JSON cannot express; return None or a text in its place")
    if isinstance(value, int) and not -MAX_NUMBER < value < MAX_NUMBER:
        raise TypeError(f"{place} holds a number of more than 308 digits; return it as text")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, ToolMessage):
        return encode_tool(value, owners)
    if isinstance(value, ChatDocument):
        return {"$document": encode_document(value, owners)}
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, FileAttachment):
        return {"$file": _encode_file(value, place)}
    if isinstance(value, (list, tuple)):
        return [encode_value(item, place, owners, depth - 1, named=named) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        body = {key: encode_value(item, place, owners, depth - 1, named=named) for key, item in value.items()}
        # Data that looks like one of the marks used here stays data: no one gets a tool by writing "$tool".
        return {"$data": body} if any(key.startswith("$") for key in body) else body
    try:
        plain = _any_json.dump_python(value, mode="json")
    except Exception as error:
        raise TypeError(
            f"{place} holds a {type(value).__name__}, which cannot cross a process: {error}; "
            "return what JSON can express, or a pydantic model"
        ) from error
    body = encode_value(plain, place, owners, depth - 1)
    if not isinstance(value, BaseModel):
        return body
    beside = _beside(value, plain, place, owners, depth)
    if not isinstance(body, dict) or "$data" in body:
        return beside or body
    return {**body, **beside} if beside else {**_class_of(value), **body} if named else body


def _beside(model: BaseModel, plain: Any, place: str, owners: Owners, depth: int) -> dict[str, Any]:
    """The class of a model that would not come back from its JSON, and its fields as they are, to stand beside that.

    Nothing for one that comes back, and for one that cannot be had better: its class is not found, or a field is no
    JSON. A reader of an earlier version sees the JSON alone.
    """
    kind = type(model)
    if not has_serializers(kind) or not is_found(kind) or comes_back(model, plain, serialized=True):
        return {}
    try:
        fields = _encode_fields(model, kept_fields(model), place, owners, depth - 1)
    except TypeError:
        return {}
    made = {"$model": place_of(kind), "$fields": fields}
    return made if comes_back(model, _plain_fields(kind, fields, {}), serialized=False) else {}


def _plain_fields(kind: type[BaseModel], fields: Mapping[str, Any], registry: Registry) -> Any:
    """The fields of a model, for reading it; those of a root model are its value."""
    decoded = {key: decode_value(item, registry) for key, item in fields.items()}
    return decoded["root"] if issubclass(kind, RootModel) else decoded


K = TypeVar("K")


def _class_of(model: BaseModel) -> dict[str, str]:
    """The mark that says where the class of a model is found; nothing for a class that other processes do not find."""
    return {"$model": place_of(type(model))} if is_found(type(model)) else {}


def _class_at(place: str, base: type[K]) -> type[K] | None:
    """The subclass of `base` at `module:qualified.name`, of a module that is loaded; None if there is none."""
    try:
        found = found_at(place)
    except LookupError:
        return None
    return found if isinstance(found, type) and issubclass(found, base) else None


def _decode_enum(body: Mapping[str, Any], registry: Registry) -> Any:
    """The member that was written; its plain value where the class is gone, or has no such member."""
    value = decode_value(body.get("value"), registry)
    kind = _class_at(str(body["$enum"]), Enum)
    if kind is None:
        return value
    if (member := kind.__members__.get(str(body.get("name")))) is not None:
        return member
    try:
        return kind(value)  # members of a flag that were combined have no name
    except ValueError:
        return value


def _decode_model(body: Mapping[str, Any], registry: Registry) -> Any:
    """The model that was written; its fields as plain data where the class is gone, or would not take them."""
    fields = {key: decode_value(item, registry) for key, item in body.items() if not key.startswith("$")}
    kind = _class_at(str(body["$model"]), BaseModel)
    if kind is None:
        return fields
    try:
        if "$fields" in body:
            return read_back(kind, _plain_fields(kind, body["$fields"], registry), serialized=False)
        return read_back(kind, fields, serialized=True)
    except ValidationError:
        return fields


def _encode_file(file: FileAttachment, place: str) -> dict[str, Any]:
    if len(file.content) > MAX_FILE_BYTES:
        raise TypeError(
            f"{place} holds the file {file.filename!r} of {len(file.content)} bytes, but a served run keeps files of "
            f"up to {MAX_FILE_BYTES}; make it smaller, or keep it elsewhere and hand on its URL"
        )
    return file.model_dump(mode="json", exclude_none=True)


def decode_value(value: Any, registry: Registry) -> Any:
    """The value written by `encode_value`; what was no JSON, message, named model or named enum comes back as plain
    data."""
    if isinstance(value, list):
        return [decode_value(item, registry) for item in value]
    if isinstance(value, dict):
        if "$data" in value:
            return {key: decode_value(item, registry) for key, item in value["$data"].items()}
        if "$tool" in value:
            return decode_tool(value, registry)
        if "$file" in value:
            return FileAttachment.model_validate(value["$file"])
        if "$model" in value:
            return _decode_model(value, registry)
        if "$enum" in value:
            return _decode_enum(value, registry)
        if "$document" in value:
            return decode_document(value["$document"], registry)
        return {key: decode_value(item, registry) for key, item in value.items()}
    return value
