"""`turnwise replay`: recorded runs decided again with today's code, over the record itself or an exported run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnwise.cli.connections import open_record
from turnwise.cli.options import AppOption, DatabaseOption, JsonOption

if TYPE_CHECKING:
    from turnwise.record.roles.archivist import ArchivistRole
    from turnwise.serving.replay import Difference, Replayed

_Targets = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN...]", help="Ids of runs, or files of exported runs (FILE.json).")
]
_Since = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Runs accepted since then, UTC."),
]


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("replay", rich_help_panel="Tools")(replay)


def replay(
    targets: _Targets = None,
    task: Annotated[str | None, typer.Option(help="All runs of that task.")] = None,
    since: _Since = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")] = 100,
    app: AppOption = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide recorded runs again with today's code, and report the differences. Calls no model.

    Exits with 0 if every decision is the same, with 1 if one differs or could not be compared.

    Example: turnwise replay run_01j... --app office:app
    """
    if not targets and task is None and since is None:
        raise typer.BadParameter("name runs or files, or choose runs with --task or --since")
    from turnwise.cli.commands.services import settings_of_command

    settings = settings_of_command(app=app, database_url=database)
    with ExitStack() as stack:
        found = _found(stack, settings.database_url, targets or [], task, since, limit)
        from turnwise.app import load_app
        from turnwise.record.past.private_record import PrivateRecord
        from turnwise.serving.replay import replay as decide_again

        loaded, scratch = load_app(settings.app), stack.enter_context(PrivateRecord())
        results = []
        for each in found:
            results.append(decide_again(loaded, each, scratch))
            typer.echo(json.dumps(asdict(results[-1])) if as_json else _line(results[-1]))
    if not as_json and len(results) != 1:
        typer.echo(_summary(results))
    raise typer.Exit(0 if all(each.same for each in results) else 1)


def _found(
    stack: ExitStack, url: str, targets: list[str], task: str | None, since: datetime | None, limit: int
) -> Iterator[dict[str, Any]]:
    """The exports that were asked for, one after another."""
    files = [target for target in targets if target.endswith(".json")]
    ids = [target for target in targets if not target.endswith(".json")]
    for file in files:
        yield _read(Path(file))
    if not ids and task is None and since is None:
        return
    store = stack.enter_context(open_record(url))
    if task is not None or since is not None:
        ids += _chosen(store, task, since, limit)
    for run_id in ids:
        yield store.export(run_id)


def _read(file: Path) -> dict[str, Any]:
    from turnwise.errors import InvalidRequestError
    from turnwise.record.past.export import checked

    try:
        return checked(json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"{file} cannot be read as an exported run: {error}") from error


def _chosen(store: ArchivistRole, task: str | None, since: datetime | None, limit: int) -> list[str]:
    from turnwise.record.values.records import RunFilter

    after = since.replace(tzinfo=UTC).timestamp() if since is not None else None
    filters, cursor = RunFilter(task=task, created_after=after), None
    chosen: list[str] = []
    while len(chosen) < limit:
        page, cursor = store.runs(filters, cursor, min(200, limit - len(chosen)))
        chosen += [run.id for run in page]
        if cursor is None:
            break
    return chosen


def _line(result: Replayed) -> str:
    if result.difference is not None:
        return f"{result.run} ({result.task}): {_told(result.difference)}"
    if result.unknown is not None:
        return f"{result.run} ({result.task}): {result.decisions} decisions are the same; more is not known: " + (
            result.unknown
        )
    return f"{result.run} ({result.task}): all {result.decisions} decisions are the same"


def _told(difference: Difference) -> str:
    was, now = (json.dumps(each) if each is not None else "nothing" for each in (difference.recorded, difference.now))
    return f"event {difference.event} differs\n  recorded: {was}\n  now:      {now}"


def _summary(results: list[Replayed]) -> str:
    differ = sum(1 for each in results if each.difference is not None)
    unknown = sum(1 for each in results if each.difference is None and each.unknown is not None)
    decisions = sum(each.decisions for each in results)
    return (
        f"{len(results)} runs, {decisions} decisions compared: {len(results) - differ - unknown} runs are the same, "
        f"{differ} differ, of {unknown} not everything is known"
    )
