"""`turnwise init`: a new project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("init", rich_help_panel="Start here")(init)


def init(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The project's name, and that of its folder: order-desk.")
    ],
) -> None:
    """Write a small application: a task with a tool, settings, tests, a Dockerfile, a compose file and CI.

    It runs as it is, on a scripted model, and passes its tests. Nothing is overwritten.

    Example: turnwise init order-desk
    """
    from turnwise.cli.project.name import checked_name
    from turnwise.cli.project.writing import write_project

    found = checked_name(name)
    for path in write_project(found, Path.cwd()):
        typer.echo(f"  {found.project}/{path}")
    typer.echo(
        f"\nTry it:\n"
        f"  cd {found.project}\n"
        f'  python -m {found.package} "Where is order 1007?"\n'
        f"  pytest\n"
        f"  turnwise up --app {found.package}.app:app\n"
        f"README.md has the rest."
    )
