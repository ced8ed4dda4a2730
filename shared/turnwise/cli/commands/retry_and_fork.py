"""Commands that have runs continue from their past: `retry` and `fork`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from turnwise.cli.completion import complete_run
from turnwise.cli.options import DEFAULT_URL, JsonOption, RunArgument, UrlOption, usd
from turnwise.cli.selection import (
    CreatedAfter,
    CreatedBefore,
    DryRun,
    ErrorOption,
    OlderThan,
    SessionFilter,
    Since,
    StatusOption,
    TagOption,
    TaskOption,
    Yes,
    change_all,
    check_choice,
    selection,
)
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text

if TYPE_CHECKING:
    from turnwise.api.runs import RunView
    from turnwise.client import Client

_Wait = Annotated[
    bool, typer.Option("--wait", help="Follow the run to its end; exit with 1 if it fails, with 3 if a limit ends it.")
]
_MaxCost = Annotated[str | None, typer.Option(help="Limit in US dollars, for instance 0.50; 0: none.")]
_MaxTokens = Annotated[int | None, typer.Option(help="Limit of input and output tokens together; 0: none.")]
_Deadline = Annotated[float | None, typer.Option(help="Limit in seconds from now.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    panel = "Runs"
    app.command("retry", rich_help_panel=panel)(retry)
    app.command("fork", rich_help_panel=panel)(fork)


def retry(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Id of the run; or choose runs by options.", autocompletion=complete_run),
    ] = None,
    status: StatusOption = None,
    error: ErrorOption = None,
    since: Since = None,
    task: TaskOption = None,
    tag: TagOption = None,
    session: SessionFilter = None,
    older_than: OlderThan = None,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: _Wait = False,
    max_cost: _MaxCost = None,
    max_tokens: _MaxTokens = None,
    deadline: _Deadline = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Continue a failed run, or all failed runs that match, from where they failed.

    Earlier work is not repeated.

    Example: turnwise retry run_01j... --wait

    Example: turnwise retry --status failed --error unavailable --since 1h --dry-run

    Example: turnwise retry --task triage --created-after 2026-11-22T10:00:00Z --yes
    """
    from turnwise.cli.connections import connect

    cost = usd(max_cost)
    chosen = selection(
        status=status,
        error=error,
        since=since,
        task=task,
        tag=tag,
        session=session,
        older_than=older_than,
        created_after=created_after,
        created_before=created_before,
    )
    check_choice(run, chosen, dry_run=dry_run)
    if wait and run is None:
        raise typer.BadParameter("--wait needs the id of one run")
    with connect(url) as client:
        if run is None:
            change = partial(client.retry_runs, max_cost=cost, max_tokens=max_tokens, deadline=deadline)
            change_all(change, chosen, "retried", dry_run=dry_run, yes=yes, as_json=as_json)
            return
        found = client.retry(run, max_cost=cost, max_tokens=max_tokens, deadline=deadline)
        _tell(client, found, f"{run} goes on.", wait=wait, as_json=as_json)


def fork(
    run: RunArgument,
    at: Annotated[
        int, typer.Option(metavar="EVENT", min=1, help="The event after which the fork continues by itself.")
    ],
    message: Annotated[
        str | None, typer.Option(help="The answer of whoever is asked there; at event 1, the first message.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model of all its agents, in place of their own.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="A new session that begins with the fork.")] = None,
    wait: _Wait = False,
    max_cost: _MaxCost = None,
    max_tokens: _MaxTokens = None,
    turns: Annotated[int | None, typer.Option(help="Limit of turns of the task.")] = None,
    deadline: _Deadline = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Make a run that continues another one from an event, and print its id. Nothing earlier is called or paid again.

    Example: turnwise fork run_01j... --at 12 --model gpt-5-mini
    """
    from turnwise.cli.connections import connect

    cost = usd(max_cost)
    with connect(url) as client:
        found = client.fork(
            run,
            at,
            message=message,
            model=model,
            session_id=session,
            max_cost=cost,
            max_tokens=max_tokens,
            turns=turns,
            deadline=deadline,
        )
        _tell(client, found, found.id, wait=wait, as_json=as_json)


def _tell(client: Client, run: RunView, text: str, *, wait: bool, as_json: bool) -> None:
    if wait:
        from turnwise.cli.follow import follow

        raise typer.Exit(follow(client, run.id, as_json=as_json))
    typer.echo(as_json_text(json_of(run)) if as_json else text)
