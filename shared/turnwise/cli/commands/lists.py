"""Lists over HTTP: `turnwise runs`, `workers` and `queues`."""

from __future__ import annotations

from typing import Annotated

import typer

from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption
from turnwise.cli.selection import (
    CreatedAfter,
    CreatedBefore,
    OlderThan,
    SessionFilter,
    StatusOption,
    TagOption,
    TaskOption,
    selection,
)
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

# States of processes that ended as they were told to; the others are what an operator looks for.
_ENDED = ("stopped",)


def register(app: typer.Typer) -> None:
    """Add the commands about the fleet to `app`; `runs` is among the commands about runs."""
    panel = "Fleet"
    app.command("workers", rich_help_panel=panel)(workers)
    app.command("queues", rich_help_panel=panel)(queues)


def runs(
    status: StatusOption = None,
    task: TaskOption = None,
    tag: TagOption = None,
    session: SessionFilter = None,
    older_than: OlderThan = None,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Only runs with that text in an id or a message.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many, the newest first.")] = 20,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """List runs, the newest first: their age, how long they took, and what they wait for.

    Example: turnwise runs --status waiting --older-than 1h
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.runs import print_runs

    chosen = selection(
        q=search,
        status=status,
        task=task,
        tag=tag,
        session=session,
        older_than=older_than,
        created_after=created_after,
        created_before=created_before,
    )
    with connect(url) as client:
        page = client.runs(**chosen, limit=limit)
        while search and page.next_cursor and len(page.items) < limit:  # a search ends a page early, to be bounded
            more = client.runs(**chosen, limit=limit - len(page.items), cursor=page.next_cursor)
            page = more.model_copy(update={"items": [*page.items, *more.items]})
    if as_json:
        typer.echo(as_json_text(json_of(page)))
    elif page.items:
        print_runs(map(json_of, page.items))
    else:
        typer.echo("No run matches.", err=True)


def workers(
    ended: Annotated[bool, typer.Option("--ended", help="Also those that ended in good order.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """List coordinators and workers: their queues, their state, and the asks that they hold.

    Live ones take work. Draining ones were told to end, deaf ones hear nothing from the broker, gone ones fell silent.

    Example: turnwise workers
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.fleet import print_workers

    with connect(url) as client:
        found = [worker for worker in client.workers() if ended or worker.state not in _ENDED]
    if as_json:
        typer.echo(as_json_text([json_of(one) for one in found]))
    elif found:
        print_workers(map(json_of, found))
    else:
        typer.echo("No process serves.", err=True)


def queues(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL) -> None:
    """List queues: their waiting asks and the age of these, paused asks, and the number of processes that serve them.

    Example: turnwise queues
    """
    from turnwise.cli.connections import connect
    from turnwise.cli.text.fleet import print_queues

    with connect(url) as client:
        found = client.queues()
    if as_json:
        typer.echo(as_json_text([json_of(one) for one in found]))
    else:
        print_queues(map(json_of, found))
