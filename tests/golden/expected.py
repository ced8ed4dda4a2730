"""The scenarios whose record this engine departs from on purpose, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from .model import Scenario

_FILE = Path(__file__).parent / "expected_differences.json"


def expected_differences() -> dict[str, str]:
    """Reasons by scenario id."""
    reasons: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))
    return reasons


def parameters(scenarios: Iterable[Scenario]) -> list[object]:
    """For `parametrize`: the scenarios by id; a difference that is expected must be there, or leave the list."""
    reasons = expected_differences()
    return [
        pytest.param(
            scenario,
            id=scenario.id,
            marks=[pytest.mark.xfail(reason=reasons[scenario.id], strict=True)] if scenario.id in reasons else [],
        )
        for scenario in scenarios
    ]
