"""Values as XML elements and back, led by the types of fields."""

from __future__ import annotations

import collections.abc as abc
import json
from collections.abc import Iterator
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from turnwise.messages.written_names import written_name
from turnwise.messages.xml.elements import Element, is_name, written

_LISTS = (list, set, frozenset, tuple, abc.Sequence, abc.MutableSequence, abc.Set, abc.Iterable, abc.Collection)
_DICTS = (dict, abc.Mapping, abc.MutableMapping)
_MARKS = ("nil", "json", "key")


def read_fields(element: Element, model: type[BaseModel]) -> dict[str, Any]:
    """The children (and attributes) of the element as fields of the model; tags that are no field's stay as texts."""
    values: dict[str, Any] = {name: text for name, text in element.attributes.items() if name not in _MARKS}
    by_tag: dict[str, list[Element]] = {}
    for child in element.children:
        by_tag.setdefault(child.tag, []).append(child)
    for tag, found in by_tag.items():
        info = _field(model, tag)
        hint = info.annotation if info is not None else str
        verbatim = info is not None and is_verbatim(info)
        if len(found) > 1 and item_type(hint) is not None:
            # The list's own element was left out, and its tag stands around each item.
            values[tag] = [read(item, item_type(hint), verbatim=verbatim) for item in found]
        else:
            values[tag] = read(found[0], hint, verbatim=verbatim)
    return values


def _field(model: type[BaseModel], tag: str) -> FieldInfo | None:
    fields = model.model_fields
    return fields.get(tag) or next((info for name, info in fields.items() if tag == written_name(name, info)), None)


def is_verbatim(info: FieldInfo) -> bool:
    """Return whether the field was declared with `json_schema_extra={"verbatim": True}`."""
    extra = info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("verbatim"))


def read(element: Element, hint: Any, *, verbatim: bool = False) -> Any:
    """The value of an element, in a form that pydantic validates as `hint`."""
    if element.attributes.get("nil") == "true":
        return None
    if element.attributes.get("json") == "true":
        return _from_json(element.text(), element.text())
    kind = plain(hint)
    model, item, value = as_model(kind), item_type(kind), value_type(kind)
    if model is not None and (element.children or element.attributes or not element.text()):
        return read_fields(element, model)
    if item is not None:
        return _read_list(element, item)
    if value is not None and (element.children or not element.text()):
        return {child.attributes.get("key", child.tag): read(child, value) for child in element.children}
    if _takes_text(kind):
        return element.text(verbatim=verbatim)
    if element.children and not _is_scalar(kind):
        return _read_anything(element)
    text = element.text()
    return text if _is_exact(kind) else _from_json(text, text)


def _read_list(element: Element, item: Any) -> list[Any]:
    model = as_model(plain(item))
    # A list of one whose `<item>` was left out. A model with a field of that name has no elements in it.
    as_asked = all(child.tag == "item" and child.children for child in element.children)
    if model is not None and not as_asked and any(_field(model, child.tag) is not None for child in element.children):
        return [read_fields(element, model)]
    if element.children:
        return [read(child, item) for child in element.children]
    text = element.text()
    if not text:
        return []
    value = _from_json(text, None)
    return value if isinstance(value, list) else [read(element, item)]


def _read_anything(element: Element) -> Any:
    """Return what no type says anything about: a list if all children are called alike, else an object."""
    if not element.children:
        return element.text()
    tags = [child.tag for child in element.children]
    values = [_read_anything(child) for child in element.children]
    return values if len(set(tags)) < len(tags) or tags == ["item"] else dict(zip(tags, values, strict=True))


def _from_json(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def write(
    tag: str, value: Any, hint: Any, indent: str = "", *, verbatim: bool = False, key: str | None = None
) -> Iterator[str]:
    """The lines of an element that `read` reads back; `value` as `model_dump(mode="json")` gives it."""
    kind = plain(hint)
    open_tag = f'{tag} key="{_quoted(key)}"' if key is not None else tag
    model, item, of = as_model(kind), item_type(kind), value_type(kind)
    deeper = indent + "  "
    lines: list[str] | None = None
    if value is None:
        yield f'{indent}<{open_tag} nil="true"/>'
        return
    if model is not None and isinstance(value, dict):
        lines = list(write_fields(value, model, deeper))
    elif item is not None and isinstance(value, list):
        lines = [line for entry in value for line in write("item", entry, item, deeper)]
    elif of is not None and isinstance(value, dict):
        lines = [line for name, entry in value.items() for line in _write_entry(str(name), entry, of, deeper)]
    if lines:
        yield f"{indent}<{open_tag}>"
        yield from lines
        yield f"{indent}</{tag}>"
    elif lines is not None:
        yield f"{indent}<{open_tag}></{tag}>"
    elif isinstance(value, str) and (
        _takes_text(kind) or _is_exact(kind) or not isinstance(_from_json(value, ""), str)
    ):
        yield f"{indent}<{open_tag}>{written(value, verbatim=verbatim)}</{tag}>"
    elif _is_scalar(kind) and not _takes_text(kind) and not isinstance(value, str | dict | list):
        yield f"{indent}<{open_tag}>{json.dumps(value)}</{tag}>"
    else:
        yield f'{indent}<{open_tag} json="true">{written(json.dumps(value))}</{tag}>'


def _write_entry(name: str, value: Any, hint: Any, indent: str) -> Iterator[str]:
    named = is_name(name)
    yield from write(name if named else "entry", value, hint, indent, key=None if named else name)


def write_fields(values: dict[str, Any], model: type[BaseModel], indent: str) -> Iterator[str]:
    """The lines of a model's fields; those that are None by default are left out while they are."""
    for name, value in values.items():
        info = model.model_fields.get(name)
        if info is not None and value is None and info.default is None and not info.is_required():
            continue
        hint = info.annotation if info is not None else Any
        tag = name if info is None else written_name(name, info)
        yield from write(tag, value, hint, indent, verbatim=info is not None and is_verbatim(info))


def _quoted(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return text.replace("\n", "&#10;").replace("\r", "&#13;")


def plain(hint: Any) -> Any:
    """The type without `Annotated` and `None`; a union of more than one other type stays."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        rest = [part for part in get_args(hint) if part is not NoneType]
        return plain(rest[0]) if len(rest) == 1 else hint
    return hint


def as_model(kind: Any) -> type[BaseModel] | None:
    """The type as a model, if it is one."""
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def item_type(hint: Any) -> Any:
    """The type of a list's items; None for what is no list."""
    kind = plain(hint)
    origin = get_origin(kind) or kind
    if origin not in _LISTS:
        return None
    arguments = [part for part in get_args(kind) if part is not Ellipsis]
    return arguments[0] if len(set(arguments)) == 1 else Any


def value_type(kind: Any) -> Any:
    """The type of a dict's values; None for what is no dict."""
    if (get_origin(kind) or kind) not in _DICTS:
        return None
    arguments = get_args(kind)
    return arguments[1] if len(arguments) == 2 else Any


def _is_scalar(kind: Any) -> bool:
    return kind in (int, float, bool) or choices_of(kind) != ()


def choices_of(kind: Any) -> tuple[Any, ...]:
    """The values of an enumeration."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return ()


def _takes_text(kind: Any) -> bool:
    """Return whether a text is one of its values as it is."""
    if get_origin(kind) in (Union, UnionType):
        return any(_takes_text(plain(part)) for part in get_args(kind))
    return kind in (str, Any) or any(isinstance(choice, str) for choice in choices_of(kind))


def _is_exact(kind: Any) -> bool:
    """Return whether pydantic reads it from its text better than from a JSON number: dates, decimals, ids."""
    return isinstance(kind, type) and not _is_scalar(kind) and as_model(kind) is None
