"""Values of settings: how JSON is read, and what is said of a value that is refused.

The sentence has the setting's name, the value that was found, and what was expected. A secret is never shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from turnwise.observability.redaction import redact
from turnwise.processes.setting_names import PREFIX

# Characters of a value that are shown.
_SHOWN = 200
# The beginnings of pydantic's messages, and what the rest of the message is put behind.
_BEGINNINGS = (
    ("Input should be greater ", "a number greater "),
    ("Input should be less ", "a number less "),
    ("Input should be a valid boolean", "true or false"),
    ("Input should be ", ""),
    ("String should match pattern ", "a text that matches "),
    ("String should have ", "a text with "),
    ("value is not ", ""),
)


def decoded(value: object, field: FieldInfo) -> object:
    """Return the value of a field, with a text read as JSON if the field is a list or a dictionary.

    Raises `ValueError`, which says what was expected, for one that is not JSON.
    """
    if not isinstance(value, str) or not takes_json(field):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"expected {_json_expected(field)}") from error


def takes_json(field: FieldInfo) -> bool:
    """Return whether the setting is written as JSON."""
    return get_origin(field.annotation) in (list, dict)


def faults_in_values(error: ValidationError, fields: Mapping[str, FieldInfo]) -> Iterator[str]:
    """Return a sentence for each value that is refused."""
    for fault in error.errors():
        text = str(fault["msg"]).removeprefix("Value error, ")
        if not fault["loc"]:  # about several settings, which the text names
            yield text
            continue
        name, *path = fault["loc"]
        field = fields[str(name)]
        yield f"{PREFIX}{str(name).upper()} {_found(fault, field, path)}; {_expected(text, field, path)}"


def _found(fault: ErrorDetails, field: FieldInfo, path: list[int | str]) -> str:
    if _is_secret(field.annotation):
        return "has a secret value that cannot be read"
    value = redact(repr(fault["input"]))
    if len(value) > _SHOWN:
        value = f"{value[:_SHOWN]}..."
    if not path:
        return f"is {value}"
    return f"has {value} for {path[0]!r}" if get_origin(field.annotation) is dict else f"has the item {value}"


def _expected(text: str, field: FieldInfo, path: list[int | str]) -> str:
    if text.startswith("expected "):  # of a validator of ours
        return text
    if takes_json(field) and not path:
        return f"expected {_json_expected(field)}"
    for beginning, instead in _BEGINNINGS:
        if text.startswith(beginning):
            # Behind it stands what was found, such as "unable to parse string as an integer".
            rest = text.removeprefix(beginning).partition(", unable to ")[0]
            return f"expected {instead}{rest}"
    return text


def _json_expected(field: FieldInfo) -> str:
    return f"JSON, such as {json.dumps((field.examples or [None])[0])}"


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(_is_secret(each) for each in get_args(annotation))
