"""Pieces that several commands print: JSON, and counts of things."""

from __future__ import annotations

import json
from typing import Any


def as_json_text(value: Any) -> str:
    """The value as `--json` prints it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def counted(number: int, noun: str) -> str:
    """The number with its noun, such as "1 run" or "3 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
