"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "fault"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """`said` is what was found, `mend` what to do about it; empty where there is nothing to do.

    A fault keeps the installation, or a part of it, from working; a warning will hurt some day; a note tells why
    something was not looked at.
    """

    check: str
    level: Level
    said: str
    mend: str = ""


def ok(check: str, said: str) -> Finding:
    """All is well."""
    return Finding(check=check, level="ok", said=said)


def note(check: str, said: str) -> Finding:
    """This does not matter here, or could not be looked at."""
    return Finding(check=check, level="note", said=said)


def warning(check: str, said: str, mend: str) -> Finding:
    """It works, but not for ever, or not for all."""
    return Finding(check=check, level="warning", said=said, mend=mend)


def fault(check: str, said: str, mend: str = "") -> Finding:
    """It does not work; an error's own text may say how to mend it."""
    return Finding(check=check, level="fault", said=said, mend=mend)
