"""The finding of a check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from turnwise.errors import EnvironmentFault, UsageError

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
    """Report that all is well."""
    return Finding(check=check, level="ok", said=said)


def note(check: str, said: str) -> Finding:
    """Report something that does not matter here, or could not be checked."""
    return Finding(check=check, level="note", said=said)


def warning(check: str, said: str, mend: str) -> Finding:
    """Report something that works, but not for ever, or not for all."""
    return Finding(check=check, level="warning", said=said, mend=mend)


def fault(check: str, said: str, mend: str = "") -> Finding:
    """Report something that does not work; an error's own text may have the remedy."""
    return Finding(check=check, level="fault", said=said, mend=mend)


def guarded(check: str, findings: Iterator[Finding], mend: str = "") -> Iterator[Finding]:
    """The findings; an error that ends them is one more, whether or not it was foreseen."""
    try:
        yield from findings
    except (EnvironmentFault, UsageError) as error:
        yield fault(check, str(error), mend)
    except Exception as error:  # noqa: BLE001 - a fault of this check must not hide what the others find
        told = f"this check failed: {type(error).__name__}: {error}"
        yield fault(check, told, "report it as a fault of Turnwise; the other checks are not touched by it")
