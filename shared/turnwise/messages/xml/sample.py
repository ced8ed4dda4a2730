"""The form of a tool in XML, as a model is shown it: each field with its type and description in its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from turnwise.messages.written_names import written_name
from turnwise.messages.xml.values import as_model, choices_of, is_verbatim, item_type, plain, value_type

_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any value"}
# A model that holds itself is shown so many times.
_MAX_DEPTH = 4


def verbatim_fields(model: type[BaseModel], hidden: Collection[str] = ()) -> list[str]:
    """The fields whose content is to be written as CDATA."""
    shown = {name: info for name, info in model.model_fields.items() if name not in hidden}
    return [written_name(name, info) for name, info in shown.items() if is_verbatim(info)]


def sample_fields(
    model: type[BaseModel], indent: str, *, hidden: Collection[str] = (), depth: int = 0
) -> Iterator[str]:
    """The lines that show a model's fields."""
    for name, info in model.model_fields.items():
        if name not in hidden:
            yield from _sample(
                written_name(name, info), info.annotation, indent, _note(info), depth, verbatim=is_verbatim(info)
            )


def _note(info: FieldInfo) -> str:
    optional = "" if info.is_required() else " (optional)"
    return optional + (f": {info.description}" if info.description else "")


def _sample(tag: str, hint: Any, indent: str, note: str, depth: int, *, verbatim: bool = False) -> Iterator[str]:
    kind = plain(hint)
    model, item, value = as_model(kind), item_type(kind), value_type(kind)
    if depth >= _MAX_DEPTH or (model is None and item is None and value is None):
        text = f"{_word(kind)}{note}"
        yield f"{indent}<{tag}>{f'<![CDATA[{text}]]>' if verbatim else text}</{tag}>"
        return
    deeper = indent + "  "
    remark = f" <!--{note.removeprefix(':')} -->" if note else ""
    yield f"{indent}<{tag}>{remark}"
    if model is not None:
        yield from sample_fields(model, deeper, depth=depth + 1)
    elif item is not None:
        yield from _sample("item", item, deeper, "", depth + 1)
        yield f"{deeper}<!-- more of <item> -->"
    else:
        yield from _sample("KEY", value, deeper, "", depth + 1)
        yield f"{deeper}<!-- more, each in an element called like its key -->"
    yield f"{indent}</{tag}>"


def _word(kind: Any) -> str:
    choices = choices_of(kind)
    if choices:
        return " or ".join(str(choice) for choice in choices)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(dict.fromkeys(_word(plain(part)) for part in get_args(kind)))
    return _WORDS.get(kind) or str(getattr(kind, "__name__", kind))
