"""`turnwise port`: rewrite the imports of programs written for the reference implementation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnwise.base.text import visible_json
from turnwise.cli.group import NEEDS_A_HAND
from turnwise.cli.options import JsonOption

if TYPE_CHECKING:
    from turnwise.porting.codemod.report import FileReport

_WOULD_CHANGE = 1

_Paths = Annotated[
    list[str], typer.Argument(metavar="PATH", help="Programs, and folders with programs; - is standard input.")
]
_Native = Annotated[bool, typer.Option("--native", help="Import from turnwise itself, not from turnwise.langroid.")]
_Check = Annotated[
    bool, typer.Option("--check", "--dry-run", help="Write nothing; exit with 1 if a file would change.")
]
_Diff = Annotated[bool, typer.Option("--diff", help="Write nothing; print what would change as a unified diff.")]


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("port", rich_help_panel="Tools")(port)


def port(
    paths: _Paths, native: _Native = False, check: _Check = False, diff: _Diff = False, as_json: JsonOption = False
) -> None:
    """Rewrite the imports of programs written for Langroid, and list what is left to do by hand.

    Exits with 0 if nothing is left to do, with 4 if something is. Needs the extra: pip install 'turnwise[port]'.

    Example: turnwise port chat.py agents/

    Example: turnwise port --native --diff chat.py
    """
    if "-" in paths:
        _port_stream(paths, native=native, check=check, diff=diff, as_json=as_json)
        return
    from turnwise.porting.codemod.files import find_files
    from turnwise.porting.codemod.porting import port_file

    files = find_files(Path(path) for path in paths)
    reports = [port_file(path, native=native, write=not (check or diff)) for path in files]
    _tell(reports, check=check, diff=diff, as_json=as_json)


def _port_stream(paths: list[str], *, native: bool, check: bool, diff: bool, as_json: bool) -> None:
    """Port standard input to standard output, and tell of it on standard error."""
    from turnwise.porting.codemod.porting import port_text
    from turnwise.porting.codemod.source import Source

    if len(paths) > 1:
        raise typer.BadParameter("- takes no other path: it reads one program from standard input")
    if sys.stdin is None:  # the process was started with it closed
        raise typer.BadParameter("there is no standard input to read the program from")
    decoded = Source.decode(sys.stdin.buffer.read())
    report = port_text(decoded.text, "<stdin>", native=native, written=not (check or diff))
    if not (check or diff or as_json):
        sys.stdout.buffer.write(decoded.encode(report.after))
        sys.stdout.flush()
    _tell([report], check=check, diff=diff, as_json=as_json, aside=True)


def _tell(reports: list[FileReport], *, check: bool, diff: bool, as_json: bool, aside: bool = False) -> None:
    from turnwise.cli.text import port_report

    if as_json:
        typer.echo(visible_json(port_report.as_json(reports)))
    else:
        if diff:
            for report in reports:
                typer.echo(port_report.diff(report), nl=False)
        for line in port_report.lines(reports, written=not (check or diff)):
            typer.echo(line, err=aside or diff)
    todo = any(report.todo for report in reports)
    changed = check and any(report.changed for report in reports)
    raise typer.Exit(NEEDS_A_HAND if todo else _WOULD_CHANGE if changed else 0)
