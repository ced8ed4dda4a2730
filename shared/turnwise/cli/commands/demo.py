"""`turnwise demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("demo", rich_help_panel="Start here")(demo)


def demo(
    input: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Your own tickets: JSONL, one ticket per line.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Approve every question; the default without a terminal.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Work on the first tickets only.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Tickets at a time.")] = 4,
) -> None:
    """Watch a support desk of several agents work through a file of tickets.

    Without OPENAI_API_KEY a scripted model answers. On a terminal the desk stays open after the last ticket, for a
    look at its runs in the browser, until Ctrl-C; not with --yes. Nothing is kept, except for the desk's books where
    TURNWISE_DEMO_DIR names a directory for them.

    Example: turnwise demo --limit 5
    """
    from turnwise.cli.demo.session import run_demo
    from turnwise.demo.tickets import load_tickets

    tickets = load_tickets(input)[:limit]
    raise typer.Exit(run_demo(tickets, approve_all=yes, concurrency=concurrency))
