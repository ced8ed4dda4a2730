"""The content of a function's docstring: the function's purpose, and that of each parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Described:
    """A docstring in parts: the text before its sections, and the descriptions of parameters by name."""

    purpose: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def described(function: Callable[..., Any]) -> Described:
    """The docstring of `function`, with sections in the style of Google, NumPy, Sphinx or Epydoc."""
    text = inspect.getdoc(function)
    if not text:
        return Described()
    # Loaded only where a function becomes a tool.
    from docstring_parser import ParseError, parse

    try:
        read = parse(text)
    except ParseError:  # sections of no known style: all of it is prose
        return Described(purpose=text)
    return Described(
        purpose=(read.description or "").strip(),
        parameters={item.arg_name: " ".join((item.description or "").split()) for item in read.params},
    )
