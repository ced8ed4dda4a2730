"""Commands for the record as a whole: deleting what is old, writing a run into a file."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnwise.cli.connections import open_record
from turnwise.cli.options import DatabaseOption, JsonOption, RunArgument, seconds
from turnwise.cli.output_file import check_output, written

if TYPE_CHECKING:
    from turnwise.record.roles.archivist import ArchivistRole
    from turnwise.record.upkeep.purging import Retention

_STATUSES = ("completed", "failed", "cancelled")
_ALL = ",".join(_STATUSES)

_OlderThan = Annotated[str, typer.Option("--older-than", metavar="AGE", help="Since their end: 30d, 12h, 45m, 90s.")]
_Status = Annotated[str, typer.Option("--status", metavar="NAMES", help="Which runs, separated by commas.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")]
_Batch = Annotated[int, typer.Option("--batch", min=1, max=10_000, help="Runs that are looked up at a time.")]
_Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command("purge", rich_help_panel="Tools")(purge)
    app.command("export", rich_help_panel="Tools")(export)


def purge(
    older_than: _OlderThan,
    status: _Status = _ALL,
    dry_run: _DryRun = False,
    batch: _Batch = 100,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete runs that ended long ago, with everything that belongs to them. Can be interrupted and repeated.

    Runs that have not ended stay, as does the data that sessions and budgets still need.

    Example: turnwise purge --older-than 30d --status completed,failed --dry-run
    """
    age, statuses = seconds(older_than), _statuses(status)
    from turnwise.cli.commands.services import settings_of_command
    from turnwise.record.upkeep.purging import Retention

    with open_record(settings_of_command(database_url=database).database_url) as store:
        retention = Retention(older_than=age, statuses=statuses)
        free, kept = store.count_old_runs(retention)
        if not dry_run:
            free = _delete(store, retention, batch, sum(free.values()))
        told: dict[str, Any] = {"dry_run": dry_run, "runs": free, "kept": kept, "budgets": 0, "batches": 0}
        if not dry_run:
            told["budgets"] = store.forget_old_budgets()
            while deleted := store.purge_batches(retention.older_than):
                told["batches"] += deleted
    typer.echo(json.dumps(told) if as_json else _sentence(free, kept, dry_run))


def export(run: RunArgument, output: _Output = None, database: DatabaseOption = None) -> None:
    """Write the whole record of a run as JSON: events, documents, asks, replies, receipts, usage, histories.

    `turnwise replay FILE.json` reads such a file.

    Example: turnwise export run_01j... -o run.json
    """
    from turnwise.cli.commands.services import settings_of_command

    check_output(output)
    with open_record(settings_of_command(database_url=database).database_url) as store:
        text = json.dumps(store.export(run), indent=1) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    with written(output) as file:
        file.write(text)
    typer.echo(f"{run} is in {output}.", err=True)


def _statuses(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = [name for name in names if name not in _STATUSES]
    if wrong or not names:
        raise typer.BadParameter(
            f"--status is {text!r}; expected final ones, {', '.join(_STATUSES)}: only runs that have ended are deleted"
        )
    return names


def _delete(store: ArchivistRole, retention: Retention, batch: int, expected: int) -> dict[str, int]:
    """Delete the runs that may be deleted, and return how many there were of each status."""
    deleted: Counter[str] = Counter()
    with _progress(expected) as advance:
        found = store.old_runs(retention, batch)
        while found:
            for old in found:
                if store.purge_run(old.id, retention):
                    deleted[old.status] += 1
                advance()
            found = store.old_runs(retention, batch, after=found[-1])
    return dict(deleted)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task("Deleting runs", total=total)
        yield lambda: shown.advance(task)


def _sentence(counts: dict[str, int], kept: int, dry_run: bool) -> str:
    said = ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "none"
    verb = "would be deleted" if dry_run else "were deleted"
    why = "their calls are not all settled, or an earlier run of their session may be retried"
    return f"Runs that {verb}: {said}." + (f" {kept} more are old enough, but are kept: {why}." if kept else "")
