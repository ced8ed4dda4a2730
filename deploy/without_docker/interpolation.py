"""`${NAME:-default}` and its kin, as compose reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deploy.without_docker.errors import ComposeError

_VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<plain>[A-Za-z_]\w*)"
    r"|\{(?P<name>[A-Za-z_]\w*)(?:(?P<how>:?[-?])(?P<rest>[^}]*))?\}|(?P<bad>))"
)


def interpolated(value: Any, variables: Mapping[str, str], where: str) -> Any:
    """`value` with the variables in all its strings, however deep; keys stay as they are.

    `where` leads an error's message. Raises `ComposeError` for `${NAME:?message}` without a value, and for a `$` that
    begins nothing (a plain one is written `$$`).
    """
    if isinstance(value, dict):
        return {key: interpolated(item, variables, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, variables, f"{where}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _value(found, variables, where), value)
    return value


def _value(found: re.Match[str], variables: Mapping[str, str], where: str) -> str:
    if found["dollar"]:
        return "$"
    if found["bad"] is not None:
        raise ComposeError(
            f"{where}: a $ has to begin a variable such as ${{NAME:-default}}; a plain one is written $$"
        )
    name, how, rest = found["plain"] or found["name"], found["how"] or "", found["rest"] or ""
    value = variables.get(name)
    missing = not value if how.startswith(":") else value is None
    if missing and how.endswith("?"):
        raise ComposeError(f"{where}: {name} is not set: {rest or 'it is required'}")
    if missing and how.endswith("-"):
        return rest
    return value or ""
