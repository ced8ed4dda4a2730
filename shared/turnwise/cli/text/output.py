"""Pieces that several commands print: JSON, and counts of things."""

from __future__ import annotations

from typing import Any

from turnwise.base.text import visible_json


def as_json_text(value: Any) -> str:
    """The value as `--json` prints it."""
    return visible_json(value, indent=2)


def counted(number: int, noun: str) -> str:
    """The number with its noun, such as "1 run" or "3 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
