"""Which conversation the spans of this context belong to."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from turnwise.base.contextual import Bound
from turnwise.observability.telemetry import names

_about: ContextVar[dict[str, Any]] = ContextVar("turnwise_conversation", default={})  # noqa: B039 - never changed


def about(**attributes: Any) -> Bound[dict[str, Any]]:
    """Have the spans of the block carry these, by the names in `names`, in small letters."""
    told = {getattr(names, name.upper()): value for name, value in attributes.items() if value is not None}
    return Bound(_about, _about.get() | told)


def conversation() -> dict[str, Any]:
    """What the spans begun here carry."""
    return _about.get()
