"""Small helpers that programs take from `langroid`, with the same meaning."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

from turnwise.errors import UsageError
from turnwise.messages.json_text import json_objects


class LangroidImportError(UsageError, ImportError):
    """A package that a program wants to import is missing: `package`, or one that the `extra` installs.

    `error` is what the import said.
    """

    code = "missing_package"

    def __init__(
        self, package: str | None = None, extra: str | list[str] | None = None, error: str = "", *args: object
    ) -> None:
        what = error or (f"the package {package!r} is not installed" if package else "a package is not installed")
        extras = [extra] if isinstance(extra, str) else extra or []
        needed = f" (needed for: {', '.join(extras)})" if extras else ""
        super().__init__(f"{what}{needed}; install it where the program runs", *args)


class Colors(BaseModel):
    """Escape sequences of a terminal's colours."""

    RED: str = "\033[31m"
    BLUE: str = "\033[34m"
    GREEN: str = "\033[32m"
    GREEN_DIMMER: str = "\033[38;5;22m"
    GREEN_DIM: str = "\033[38;5;28m"
    ORANGE: str = "\033[33m"
    CYAN: str = "\033[36m"
    MAGENTA: str = "\033[35m"
    YELLOW: str = "\033[33m"
    RESET: str = "\033[0m"


def setup_logger(name: str, level: int = logging.INFO, terminal: bool = False) -> logging.Logger:
    """Return the logger `name` at `level`; with `terminal` it writes to stderr, if no handler is there yet."""
    named = logging.getLogger(name)
    named.setLevel(level)
    if terminal and not named.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
        named.addHandler(handler)
    return named


def extract_top_level_json(s: str) -> list[str]:
    """Return the JSON objects at the top level of a text, each as JSON text; near misses are repaired."""
    return [json.dumps(found) for found in json_objects(s)]


def top_level_json_field(s: str, f: str) -> Any:
    """Return the field `f` of the first JSON object in a text that has one, "" if none does."""
    return next((found[f] for found in json_objects(s) if f in found), "")


def is_valid_json(json_str: str) -> bool:
    """Return whether a text is JSON as a whole."""
    try:
        json.loads(json_str)
    except ValueError:
        return False
    return True


def closest_string(query: str, string_list: Sequence[str]) -> str:
    """Return the text of a list that is most like the query, "No match found" if none is; case does not matter."""
    texts = {text.lower().strip(): text for text in string_list}
    near = difflib.get_close_matches(query.lower().strip(), texts, n=1)
    return texts[near[0]] if near else "No match found"


def has_field(model_class: type[BaseModel], field_name: str) -> bool:
    """Return whether a pydantic class has a field."""
    return field_name in model_class.model_fields


def get_field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of the fields of a pydantic class, with those of the classes in its fields instead of these."""
    names: list[str] = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        nested = isinstance(kind, type) and issubclass(kind, BaseModel)
        names += get_field_names(kind) if nested else [name]  # type: ignore[arg-type]
    return names


@contextmanager
def temp_update(pydantic_object: BaseModel, updates: dict[str, Any]) -> Iterator[None]:
    """Set fields of an object within the block; raises `AttributeError` for one that it does not have."""
    before = {name: getattr(pydantic_object, name) for name in updates}
    try:
        for name, value in updates.items():
            setattr(pydantic_object, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(pydantic_object, name, value)
