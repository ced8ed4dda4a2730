"""Options that choose runs, and changing all that they choose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from turnwise.base.text import visible
from turnwise.cli.completion import complete_status, complete_task
from turnwise.cli.options import seconds
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.output import as_json_text, counted

if TYPE_CHECKING:
    from turnwise.api.runs import BulkView

Json = dict[str, Any]

RunStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]
StatusOption = Annotated[
    RunStatus | None, typer.Option("--status", help="Only runs of that status.", autocompletion=complete_status)
]
TaskOption = Annotated[str | None, typer.Option("--task", help="Only runs of that task.", autocompletion=complete_task)]
TagOption = Annotated[str | None, typer.Option("--tag", help="Only runs with that tag.")]
SessionFilter = Annotated[str | None, typer.Option("--session", metavar="ID", help="Only runs of that session.")]
OlderThan = Annotated[
    str | None, typer.Option("--older-than", metavar="TIME", help="Only runs accepted so long ago: 30d, 12h, 45m, 90s.")
]
CreatedAfter = Annotated[
    str | None, typer.Option("--created-after", metavar="TIME", help="Only runs accepted after 2026-11-22T10:00:00Z.")
]
CreatedBefore = Annotated[
    str | None, typer.Option("--created-before", metavar="TIME", help="Only runs accepted before that.")
]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--error", metavar="KIND", help="Only runs that ended with such an error: unavailable, timeout, ... Repeatable."
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only runs that ended within that time: 1h, 45m, 2d.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list the runs that match.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Change all that match without asking.")]


def selection(
    *,
    older_than: str | None = None,
    created_before: str | None = None,
    created_after: str | None = None,
    since: str | None = None,
    **conditions: str | Sequence[str] | None,
) -> Json:
    """Return the conditions that are given, as the API takes them; raises `typer.BadParameter`."""
    if older_than is not None:
        if created_before is not None:
            raise typer.BadParameter("give one of --older-than and --created-before")
        created_before = _ago("--older-than", older_than)
    finished_after = None if since is None else _ago("--since", since)
    times = {"created_after": created_after, "created_before": created_before, "finished_after": finished_after}
    chosen = {name: value for name, value in {**conditions, **times}.items() if value is not None and value != []}
    for name, value in chosen.items():
        # A script's variable was not set. Without the condition, every run would be chosen.
        if value == "" or (isinstance(value, list) and "" in value):
            option = "search" if name == "q" else name.replace("_", "-")
            raise typer.BadParameter(f"--{option} is empty; give it a value, or leave it out to choose runs of any")
    return chosen


def _ago(option: str, age: str) -> str:
    try:
        return (datetime.now(UTC) - timedelta(seconds=seconds(age))).isoformat()
    except OverflowError:
        raise typer.BadParameter(f"{option} {age} is before the year 1") from None


def check_choice(run: str | None, chosen: Json, *, dry_run: bool) -> None:
    """Raise `typer.BadParameter` unless exactly one is given: a run, or conditions."""
    if (run is None) == (not chosen):
        raise typer.BadParameter("give the id of a run, or options that choose runs, such as --task and --older-than")
    if run is not None and dry_run:
        raise typer.BadParameter("--dry-run needs options that choose runs")


def change_all(
    change: Callable[..., BulkView], filter: Json, verb: str, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Change all runs that match the filter, page by page, once someone has agreed to their number.

    `change` is a method of the client such as `cancel_runs`; `verb` says what it does.
    """
    looked = _all_pages(change, filter, dry_run=True)
    matched = looked["matched"]
    if dry_run or not matched:
        _tell(looked, f"{counted(matched, 'run')} would be {verb}." if matched else "No run matches.", as_json)
        return
    if not yes:
        _confirm(f"{counted(matched, 'run')} will be {verb}. Go on?")
    # What was counted is what is changed: no run that was accepted since.
    done = _all_pages(change, {**filter, "created_before": looked["created_before"]}, dry_run=False)
    refused = f", {len(done['refused'])} refused" if done["refused"] else ""
    _tell(done, f"{counted(done['changed'], 'run')} {verb}{refused}.", as_json)
    if not as_json:
        for one in done["refused"]:
            typer.echo(visible(f"{one['run']}: {one['detail']}"), err=True)


def _all_pages(change: Callable[..., BulkView], filter: Json, *, dry_run: bool) -> Json:
    total: Json = {"matched": 0, "changed": 0, "runs": [], "refused": [], "created_before": None}
    cursor: str | None = None
    while True:
        page = change(filter, dry_run=dry_run, cursor=cursor, limit=500 if dry_run else 100)
        shown = json_of(page)
        for name in ("matched", "changed", "runs", "refused"):
            total[name] += shown[name]
        total["created_before"] = shown["created_before"]
        filter, cursor = {**filter, "created_before": shown["created_before"]}, page.next_cursor
        if cursor is None:
            return total
        if not dry_run and sys.stderr.isatty():
            typer.echo(f"{total['matched']} looked at, {total['changed']} changed", err=True)


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask on; add --yes, or --dry-run to see what matches")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def _tell(found: Json, text: str, as_json: bool) -> None:
    typer.echo(as_json_text(found) if as_json else text)
