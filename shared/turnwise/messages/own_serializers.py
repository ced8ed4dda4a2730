"""The ways in which a program's models are written as JSON, and what comes back from it.

Nearly all models are their fields, and come back from their JSON as they were. But a serializer may shorten a value,
or write it in a form that no validator reads. Fields with `exclude` are left out, and stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, EncodedBytes, EncodedStr, TypeAdapter
from pydantic.errors import PydanticUserError

from turnwise.messages.bare_schema import has_serializer, schemas
from turnwise.messages.read_back import read_back

# Settings of a class for how values are written, which its validators need not read.
_WRITTEN_SO = frozenset({"ser_json_temporal", "ser_json_timedelta", "ser_json_bytes", "ser_json_inf_nan"})
_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


@lru_cache(maxsize=4_096)
def has_serializers(kind: type[BaseModel]) -> bool:
    """Return whether the program says of the class, or of one in its fields, how it is written."""
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    found = schemas(kind.__pydantic_core_schema__)
    return any(has_serializer(schema) or _WRITTEN_SO & schema.get("config", {}).keys() for schema in found)


def comes_back(model: BaseModel, written: Any, *, serialized: bool) -> bool:
    """Return whether the model is read from what was written of it as it is, apart from fields that are left out.

    `serialized`: see `read_back`.
    """
    try:
        return _same(model, read_back(type(model), written, serialized=serialized))
    except Exception:  # noqa: BLE001 - of the class's own validators, or of a comparison, which may raise anything
        return False


def kept_fields(model: BaseModel) -> Iterator[str]:
    """Yield the names of the fields that are not left out, extra ones too."""
    for name, field in type(model).model_fields.items():
        # Newer pydantic may leave a field out by its value.
        leave_out = getattr(field, "exclude_if", None)
        if not field.exclude and not (leave_out is not None and leave_out(getattr(model, name))):
            yield name
    yield from model.model_extra or ()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, BaseModel):
        if type(one) is not type(other):
            return False
        return all(_same(getattr(one, name), getattr(other, name)) for name in kept_fields(one))
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return bool(one == other)


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
    # The serializers of models in the field are not the field's own.
    return name in kind.model_fields and any(
        map(has_serializer, schemas(_adapter(kind, name).core_schema, in_models=False))
    )


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
