"""The scenarios whose record this engine departs from on purpose, each with its reason."""

from __future__ import annotations

import json
from pathlib import Path

_FILE = Path(__file__).parent / "expected_differences.json"


def expected_differences() -> dict[str, str]:
    """Reasons by scenario id."""
    reasons: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))
    return reasons
