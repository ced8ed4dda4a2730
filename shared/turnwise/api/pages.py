"""Lists, a page at a time."""

from __future__ import annotations

from typing import Generic, TypeVar

from turnwise.api.view import View

T = TypeVar("T")


class Page(View, Generic[T]):
    """A part of a list; `next_cursor` gets the next one and is null at the end."""

    items: list[T]
    next_cursor: str | None = None
