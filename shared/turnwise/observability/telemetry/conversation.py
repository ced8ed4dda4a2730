"""The conversation that spans belong to, and what was said in it where the operator asks for that."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from turnwise.base.contextual import Bound
from turnwise.observability.redaction import redact
from turnwise.observability.telemetry import names

_about: ContextVar[dict[str, Any]] = ContextVar("turnwise_conversation", default={})  # noqa: B039 - never changed


def about(**attributes: Any) -> Bound[dict[str, Any]]:
    """Have the spans of the block carry these, by the names in `names`, in small letters."""
    told = {getattr(names, name.upper()): value for name, value in attributes.items() if value is not None}
    return Bound(_about, _about.get() | told)


def conversation() -> dict[str, Any]:
    """Return what the spans begun here carry."""
    return _about.get()


_YES = ("true", "1", "span_only", "span_and_event")


def captured() -> bool:
    """Return whether spans record the texts of messages."""
    return os.environ.get(names.CAPTURE, "").strip().lower() in _YES


def content(make: Callable[[], Any]) -> str | None:
    """The value as JSON, without the secrets that this process knows of; None unless content is asked for."""
    if not captured():
        return None
    return redact(json.dumps(make(), ensure_ascii=False, default=str))
