"""The ways in which a program's models are written as JSON, and the models that would not come back from it.

Nearly all models are their fields, and come back from their JSON as they were. But a serializer may shorten a value,
or write it in a form that no validator reads, and a field may be left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, EncodedBytes, EncodedStr, TypeAdapter
from pydantic.errors import PydanticUserError

from turnwise.messages.bare_schema import has_serializer, schemas
from turnwise.messages.read_back import read_back

_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


def comes_back(model: BaseModel, written: Any) -> bool:
    """Return whether the model would be read from `written`, which is its JSON, as it is."""
    if not _has_serializers(type(model)):
        return True
    try:
        return read_back(type(model), written, serialized=True) == model
    except Exception:  # noqa: BLE001 - of the class's own validators, which may raise anything
        return False


@lru_cache(maxsize=4_096)
def _has_serializers(kind: type[BaseModel]) -> bool:
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    found = schemas(kind.__pydantic_core_schema__)
    return any(has_serializer(schema) or schema.get("serialization_exclude") for schema in found)


@lru_cache(maxsize=4_096)
def encoded_fields(kind: type[BaseModel]) -> frozenset[str]:
    """Return the fields of types that are read from their encoded form alone, such as `Base64Bytes`."""
    fields = kind.model_fields.items()
    return frozenset(name for name, field in fields if _is_encoded(field.metadata) or _holds(field.annotation))


def _holds(annotation: Any) -> bool:
    return _is_encoded(getattr(annotation, "__metadata__", ())) or any(_holds(part) for part in get_args(annotation))


def _is_encoded(metadata: Any) -> bool:
    return any(isinstance(part, EncodedBytes | EncodedStr) for part in metadata)


def has_own_form(kind: type[BaseModel], name: str) -> bool:
    """Return whether the type of a field, or an annotation of it, says how its values are written."""
    return name in kind.model_fields and any(map(has_serializer, schemas(_adapter(kind, name).core_schema)))


def own_form(kind: type[BaseModel], name: str, value: Any) -> Any:
    """Return a field's value as the field's type says that it is written in JSON."""
    return _adapter(kind, name).dump_python(value, mode="json")


@lru_cache(maxsize=1_024)
def _adapter(kind: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = kind.model_fields[name]
    annotation: Any = field.annotation
    for part in field.metadata:
        annotation = Annotated[annotation, part]
    try:
        return TypeAdapter(annotation)
    except PydanticUserError:  # a class that pydantic does not know
        return TypeAdapter(annotation, config=_ANY_CLASS)
