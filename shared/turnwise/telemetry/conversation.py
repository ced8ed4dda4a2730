"""Which conversation the spans of this context belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from turnwise.telemetry import names

_about: ContextVar[dict[str, Any]] = ContextVar("turnwise_conversation", default={})  # noqa: B039 - never changed


@contextmanager
def about(**attributes: Any) -> Iterator[None]:
    """Have the spans of the block carry these, by the names in `names`, in small letters."""
    told = {getattr(names, name.upper()): value for name, value in attributes.items() if value is not None}
    token = _about.set(_about.get() | told)
    try:
        yield
    finally:
        _about.reset(token)


def conversation() -> dict[str, Any]:
    """What the spans begun here carry."""
    return _about.get()
