"""What was said, for spans: only where somebody has asked for it, because it may be anybody's secret."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from turnwise.observability.redaction import redact
from turnwise.observability.telemetry import names

_YES = ("true", "1", "span_only", "span_and_event")


def captured() -> bool:
    """Whether spans are to hold content."""
    return os.environ.get(names.CAPTURE, "").strip().lower() in _YES


def content(make: Callable[[], Any]) -> str | None:
    """The value as JSON, without the secrets that this process knows of; None unless content is asked for."""
    if not captured():
        return None
    return redact(json.dumps(make(), ensure_ascii=False, default=str))
