"""The check of limits that a program gives."""

from __future__ import annotations

import math
from types import UnionType


def check_limit(name: str, limit: object, kinds: type | UnionType) -> None:
    """Raise `ValueError` for a limit that is not of `kinds`, not finite, or below 0."""
    is_number = isinstance(limit, kinds) and not isinstance(limit, bool)
    if not is_number or not math.isfinite(limit) or limit < 0:  # type: ignore[arg-type,operator]  # a number by now
        kind = "a whole number" if kinds is int else "a number"
        raise ValueError(f"{name} is {limit!r}; expected {kind} of at least 0, where 0 is no limit")


def check_turns(turns: object) -> None:
    """Raise `ValueError` for a number of turns that is not whole."""
    if isinstance(turns, bool) or not isinstance(turns, int):
        raise ValueError(f"turns is {turns!r}; expected a whole number, where -1 is no limit")
