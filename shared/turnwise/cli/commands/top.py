"""`turnwise top`: runs, queues and spend, live."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption
from turnwise.cli.text.output import as_json_text

if TYPE_CHECKING:
    from turnwise.client import Client

Filter = Literal["unfinished", "running", "waiting", "queued", "failed", "all"]

# The width of a frame that goes to no terminal.
_WIDTH = 160


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("top", rich_help_panel="Fleet")(top)


def top(
    show: Annotated[
        Filter, typer.Option("--show", help="The runs to begin with; the key f shows others.")
    ] = "unfinished",
    interval: Annotated[float, typer.Option(min=0.5, max=3600, help="Seconds between two looks.")] = 2.0,
    fleet: Annotated[bool, typer.Option("--fleet", help="Queues and spend of all tenants; for operators.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Print one frame and end, as without a terminal.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Show runs, queues and today's spend as they change: sort, filter, search, and open a run.

    Keys: q quits, the arrows select a run, Enter watches it until Ctrl-C, f filters, s sorts, / searches.

    Example: turnwise top

    Example: turnwise top --show failed --once
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.top.snapshot import take_snapshot

    with connect(url) as client:
        first = take_snapshot(client, filter=show, fleet=fleet)
        if as_json:
            typer.echo(as_json_text(first.as_json()))
        elif once or not _has_keys():
            from turnwise.cli.text.console import console
            from turnwise.cli.top.choice import Choice
            from turnwise.cli.top.frame import Size, frame

            out = console()
            for line in frame(first, Choice(filter=show), Size(out.width if out.is_terminal else _WIDTH)):
                out.print(line)
        else:
            from turnwise.cli.top.screen import TopScreen

            TopScreen(client, first, interval, lambda run: _watch(client, run)).show()


def _has_keys() -> bool:
    """Return whether someone sits at a terminal whose keys can be read one by one."""
    return sys.stdin.isatty() and sys.stdout.isatty() and find_spec("termios") is not None


def _watch(client: Client, run: str) -> None:
    """Follow a run as `turnwise watch` does; a gateway that goes away ends that, and not the list."""
    from turnwise.cli.follow import follow
    from turnwise.errors import TurnwiseError

    try:
        follow(client, run)
    except TurnwiseError as error:
        typer.echo(str(error), err=True)
