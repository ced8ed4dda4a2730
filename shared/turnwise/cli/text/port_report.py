"""Reports of `turnwise port`, as text, as a diff and as JSON."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from turnwise.base.text import first_line, visible
from turnwise.cli.text.output import counted

if TYPE_CHECKING:
    from turnwise.porting.codemod.report import FileReport


def lines(reports: Sequence[FileReport], *, written: bool) -> Iterator[str]:
    """Yield a line for each change and each finding, as `file:line: text`, and one with the sums."""
    for report in reports:
        for change in report.changes:
            before, after = first_line(change.before, 76), first_line(change.after, 100)
            yield visible(f"{report.path}:{change.line}: {before} → {after}")
    for report in reports:
        for finding in report.findings:
            place = f"{report.path}:{finding.line}" if finding.line else report.path
            yield visible(f"{place}: {finding.level}: {finding.said}")
    yield _sums(reports, written=written)


def _sums(reports: Sequence[FileReport], *, written: bool) -> str:
    changed = sum(report.changed for report in reports)
    todo = sum(report.todo for report in reports)
    notes = sum(len(report.findings) for report in reports) - todo
    verb = "changed" if written else "would change"
    left = "nothing left to do" if not todo else f"{todo} left to do by hand"
    return f"{counted(len(reports), 'file')}, {changed} {verb}; {left}; {counted(notes, 'note')}."


def diff(report: FileReport) -> str:
    """Return the change of one file as a unified diff, "" if nothing changed."""
    # A form feed within a line does not end it.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+\Z", text) for text in (report.before, report.after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, report.path, report.path)
    )


def as_json(reports: Sequence[FileReport]) -> dict[str, Any]:
    """Return all reports as values of JSON; a finding's `line` is null where it concerns the whole file."""
    return {
        "ok": not any(report.todo for report in reports),
        "files": [
            {
                "path": report.path,
                "changed": report.changed,
                "changes": [{"line": each.line, "before": each.before, "after": each.after} for each in report.changes],
                "findings": [
                    {"line": each.line or None, "level": each.level.name.lower(), "text": each.said}
                    for each in report.findings
                ],
            }
            for report in reports
        ],
    }
