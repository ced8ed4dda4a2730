"""Results of porting: changes, findings, and one report for each file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The weight of a finding."""

    TODO = "to do"  # the program does not work until someone changes it
    NOTE = "note"  # the program works; something is ignored or stays as it was


@dataclass(frozen=True, kw_only=True)
class Change:
    """A statement or expression that was rewritten; `line` is its line before the change."""

    line: int
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class PortingFinding:
    """Something that the rewriting does not settle. `line` is 0 where it concerns the file as a whole."""

    line: int
    level: Level
    said: str


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """One file: what changed, and what is left. `before` and `after` are its text, equal if nothing changed."""

    path: str
    changes: tuple[Change, ...] = ()
    findings: tuple[PortingFinding, ...] = ()
    before: str = ""
    after: str = ""

    @property
    def changed(self) -> bool:
        """Tell whether the text is another one than before."""
        return self.before != self.after

    @property
    def todo(self) -> int:
        """Count the findings that need a hand."""
        return sum(1 for finding in self.findings if finding.level is Level.TODO)
