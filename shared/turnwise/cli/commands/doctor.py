"""`turnwise doctor`: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from turnwise.cli.options import AppOption, DatabaseOption, JsonOption
from turnwise.cli.text.output import counted

if TYPE_CHECKING:
    from turnwise.cli.doctor import Finding

_STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "fault": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("doctor", rich_help_panel="Tools")(doctor)


def doctor(app: AppOption = None, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Check this installation, and report faults with their remedies. Calls no model.

    Looks at settings, application, database, broker, processes and model servers. Exits with 1 if there is a fault;
    warnings do not count.

    Example: turnwise doctor --app office:app
    """
    from turnwise.cli.doctor import examine
    from turnwise.observability.redaction import redact

    with _quiet():
        found = list(examine(app=app, database_url=database))
    well = all(each.level != "fault" for each in found)
    if as_json:
        findings = [{name: redact(value) for name, value in asdict(each).items()} for each in found]
        typer.echo(json.dumps({"ok": well, "findings": findings}))
    else:
        _show(found)
    raise typer.Exit(0 if well else 1)


def _show(found: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from turnwise.observability.redaction import redact

    console = Console(width=None if Console().is_terminal else 160)
    table = Table("check", "", "what was found", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for each in found:
        said = Text(redact(each.said))
        if each.mend:
            said.append(f"\n→ {redact(each.mend)}", style="italic")
        table.add_row(Text(redact(each.check)), Text(each.level, style=_STYLES[each.level]), said)
    console.print(table)
    faults, warnings = (sum(1 for each in found if each.level == level) for level in ("fault", "warning"))
    counts = (counted(len(found), "check"), counted(faults, "fault"), counted(warnings, "warning"))
    console.print(f"\n{', '.join(counts)}.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Return what a check finds is in its finding; libraries need not log it as well."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
