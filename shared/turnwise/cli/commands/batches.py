"""`turnwise batches`: the batches of a gateway, and one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

_Batch = Annotated[str, typer.Argument(metavar="BATCH", help="Its id.")]

group = typer.Typer(
    help="Look at batches, and cancel them; `turnwise batch` sends a file as one.\n\nExample: turnwise batches list",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.add_typer(group, name="batches", rich_help_panel="Runs")


@group.command("list")
def list_batches(
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many, the newest first.")] = 20,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """List batches, the newest first: what is done, failed and left of their items, and what they cost.

    Example: turnwise batches list --limit 5
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        page = client.batches(limit=limit)
    if as_json:
        typer.echo(as_json_text(json_of(page)))
    elif page.items:
        from turnwise.cli.text.batches import print_batches

        print_batches(page.items)
    else:
        typer.echo("There are no batches; send a file with `turnwise batch`.", err=True)


@group.command()
def show(
    batch: _Batch,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Show a batch: its items by status, and what it has spent of its budget.

    Example: turnwise batches show bat_01j...
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.batch(batch)
    if as_json:
        typer.echo(as_json_text(json_of(found)))
        return
    from turnwise.cli.text.batches import print_batch

    print_batch(found)


@group.command()
def cancel(batch: _Batch, as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """Cancel a batch: no further item begins, and the runs that have begun end. What is done stays.

    Example: turnwise batches cancel bat_01j...
    """
    from turnwise.cli.connections import connect

    with connect(url) as client:
        found = client.cancel_batch(batch)
    typer.echo(as_json_text(json_of(found)) if as_json else f"{batch} is asked to end.")
