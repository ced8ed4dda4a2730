"""Models read back from the fields that were written of them.

They were validated when they were made. A second time, a validator that converts would convert its own result, and a
constraint or an alias would refuse it. So the fields are converted to their types and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from turnwise.messages.bare_schema import bare_schema

M = TypeVar("M", bound=BaseModel)


def read_back(kind: type[M], fields: Mapping[str, Any], *, serialized: bool) -> M:
    """Return the model whose fields were written by their names.

    `serialized`: they went through the serializers of the class, whose counterparts among its validators then read
    them. Fields that do not fit, because the class has changed since, are left to the class: its validators may know
    the old form, else it raises `ValidationError`. A class with a constructor of its own is always called.
    """
    read = _reader(kind, serialized)
    if read is None:
        return kind.model_validate(fields)
    try:
        made: M = read(fields)
    except ValidationError:
        return kind.model_validate(fields, by_name=True)
    return made


@lru_cache(maxsize=1024)
def _reader(kind: type[BaseModel], serialized: bool) -> Callable[[Any], Any] | None:
    """Return what reads the class; None where the class itself does, because it does nothing but convert."""
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    schema = bare_schema(kind, serialized)
    if schema is None:
        return None
    try:
        # Or pydantic would take the validators that the classes of nested models have already.
        validator = SchemaValidator(schema, _use_prebuilt=False)
    except TypeError:  # pydantic before 2.12 has no such argument
        validator = SchemaValidator(schema)
    return lambda fields: validator.validate_python(fields, by_name=True)
