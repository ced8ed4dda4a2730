"""`turnwise pause`, `resume` and `pauses`: stop the work of a queue, a task or a tenant, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

if TYPE_CHECKING:
    from turnwise.api.fleet import PauseView
    from turnwise.client import Client

_Kind = Annotated[
    Literal["queue", "task", "tenant"],
    typer.Argument(metavar="KIND", help="queue, task or tenant.", show_default=False),
]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name; of a task, the root task of runs.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    panel = "Fleet"
    app.command("pause", rich_help_panel=panel)(pause)
    app.command("resume", rich_help_panel=panel)(resume)
    app.command("pauses", rich_help_panel=panel)(pauses)


def pause(
    kind: _Kind,
    name: _Name,
    reason: Annotated[str | None, typer.Option(help="Shown with every run that it holds.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Pause a queue, a task or a tenant: nothing of it is begun or claimed until `turnwise resume`.

    Work in progress is finished. Runs are still accepted, cancelled, and ended by their deadlines.

    Example: turnwise pause queue llm --reason "the provider is away"
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.pause(kind, name, reason)
        known = kind != "tenant" or _has_tenant(client, name)
    _tell(found, f"The {kind} {name} is paused. It goes on with: turnwise resume {kind} {name}", as_json)
    if not known:
        typer.echo(f"No run, key or limit of a tenant {name!r} is on record; is the name right?", err=True)


def _has_tenant(client: Client, name: str) -> bool:
    """Return whether anything of the tenant is on record; True where that cannot be asked, as the pause is made."""
    from turnwise.errors import TurnwiseError

    try:
        if client.outlines(name, limit=1).items or client.tenant(name).updated_at is not None:
            return True
        page = client.keys(limit=200)
        while page.next_cursor is not None and all(key.tenant != name for key in page.items):
            page = client.keys(cursor=page.next_cursor, limit=200)
    except TurnwiseError:
        return True
    return any(key.tenant == name for key in page.items)


def resume(kind: _Kind, name: _Name, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """End a pause: the held work continues at once.

    Example: turnwise resume queue llm
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.resume(kind, name)
    _tell(found, f"The {kind} {name} goes on.", as_json)


def pauses(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """List the pauses: since when, by whom and why.

    Example: turnwise pauses
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.pauses()
    if as_json:
        typer.echo(as_json_text([json_of(one) for one in found]))
    elif found:
        from turnwise.cli.text.fleet import print_pauses

        print_pauses(map(json_of, found))
    else:
        typer.echo("Nothing is paused.", err=True)


def _tell(pause: PauseView, text: str, as_json: bool) -> None:
    typer.echo(as_json_text(json_of(pause)) if as_json else text)
