"""The conversation that spans belong to, and what was said in it where the operator asks for that."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from turnwise.base.call_context import CallContext, CallPart, current_call, under
from turnwise.base.contextual import Bound
from turnwise.observability.redaction import redact, redacted
from turnwise.observability.telemetry import names

ABOUT = CallPart[dict[str, Any]]({})


def about(**attributes: Any) -> Bound[CallContext]:
    """Have the spans of the block carry these, by the names in `names`, in small letters."""
    told = {getattr(names, name.upper()): value for name, value in attributes.items() if value is not None}
    return under(ABOUT, conversation() | told)


def conversation() -> dict[str, Any]:
    """Return what the spans begun here carry."""
    return current_call()[ABOUT]


_YES = ("true", "1", "span_only", "span_and_event")


def captured() -> bool:
    """Return whether spans record the texts of messages."""
    return os.environ.get(names.CAPTURE, "").strip().lower() in _YES


def content(make: Callable[[], Any]) -> str | None:
    """The value as JSON, without what is or looks like a secret; None unless content is asked for."""
    if not captured():
        return None
    # Texts first, as they were said: within JSON a line end is two characters, the second of them a letter. The whole
    # after that, since a name may tell that its value is a secret.
    value = redacted(make())
    return redact(json.dumps(value, ensure_ascii=False, default=lambda other: redact(str(other))))
