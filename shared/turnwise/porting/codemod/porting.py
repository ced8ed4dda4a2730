"""One file at a time: read, rewrite, check, replace."""

from __future__ import annotations

from pathlib import Path

from turnwise.errors import PortingError
from turnwise.porting.codemod import source
from turnwise.porting.codemod.checks import findings
from turnwise.porting.codemod.files import is_requirements, notebook_findings, requirement_findings
from turnwise.porting.codemod.report import FileReport, Level, PortingFinding
from turnwise.porting.codemod.rewriting import rewrite


def port_file(path: Path, *, native: bool = False, write: bool = True) -> FileReport:
    """Port one file, and return what was done. A file that cannot be ported is left, and the report says why."""
    try:
        return _port(path, native=native, write=write)
    except PortingError as error:
        return FileReport(
            path=str(path), findings=(PortingFinding(line=0, level=Level.TODO, said=f"left as it is: {error}"),)
        )


def port_text(text: str, path: str, *, native: bool = False, written: bool = True) -> FileReport:
    """Port the text of a program; lines of findings are those of the result if `written`. Raises `PortingError`."""
    if not concerns(text):
        return FileReport(path=path, before=text, after=text)
    rewritten = rewrite(text, native=native)
    return FileReport(
        path=path,
        changes=rewritten.changes,
        findings=findings(rewritten, written=written),
        before=text,
        after=rewritten.after,
    )


def concerns(text: str) -> bool:
    """Tell whether a program may have anything to port; parsing takes long."""
    return "langroid" in text or "turnwise" in text


def _port(path: Path, *, native: bool, write: bool) -> FileReport:
    content = source.read(path)
    if is_requirements(path) or path.suffix == ".ipynb":
        text = content.decode(errors="replace")
        find = notebook_findings if path.suffix == ".ipynb" else requirement_findings
        return FileReport(path=str(path), findings=tuple(find(text)), before=text, after=text)
    decoded = source.Source.decode(content)
    report = port_text(decoded.text, str(path), native=native, written=write)
    if write and report.changed:
        source.replace(path, decoded.encode(report.after))
    return report
