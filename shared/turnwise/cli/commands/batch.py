"""`turnwise batch`: a file of items as a batch on a gateway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from turnwise.base.text import visible_json
from turnwise.cli.commands.runs import TaskArgument
from turnwise.cli.options import DEFAULT_URL, JsonOption, UrlOption, usd
from turnwise.cli.text.messages import as_json as json_of
from turnwise.errors import ConfigurationError, EnvironmentFault, QuotaExceededError

_INTERRUPTED = 130

_File = Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="A line of JSON for each item.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write results there, not to standard output.")
]
_Name = Annotated[str | None, typer.Option("--name", help="Another name is another batch; default: that of the file.")]
_MaxCost = Annotated[str | None, typer.Option(help="Limit of all items together, in US dollars; 0: none.")]
_MaxTokens = Annotated[int | None, typer.Option(min=0, help="Limit of all items together, in tokens; 0: none.")]
_Concurrency = Annotated[int | None, typer.Option(min=1, max=1000, help="How many items run at a time; default: 100.")]
_CanWait = Annotated[
    float | None,
    typer.Option(min=0, help="Seconds that models' calls may wait for a batch of their provider, at half the price."),
]
_RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Continue what failed, and what the limit kept back.")
]
_Anew = Annotated[bool, typer.Option("--anew", help="With --retry-failed: begin anew what cannot continue.")]
_Cancel = Annotated[bool, typer.Option("--cancel", help="Cancel the batch of this file.")]
_NoWait = Annotated[bool, typer.Option("--no-wait", help="Only send the items; a later call follows them.")]


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("batch", rich_help_panel="Runs")(batch)


def batch(
    task: TaskArgument,
    file: _File,
    output: _Output = None,
    name: _Name = None,
    max_cost: _MaxCost = None,
    max_tokens: _MaxTokens = None,
    concurrency: _Concurrency = None,
    can_wait: _CanWait = None,
    retry_failed: _RetryFailed = False,
    anew: _Anew = False,
    cancel: _Cancel = False,
    no_wait: _NoWait = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Run a task for each line of a file; results come as lines of JSON in the order of the file.

    A line is a JSON string or {"message": ...}, with id, tags, metadata, limits or priority. Interrupted, the same
    command continues. Exits with 1 if an item failed, with 3 if a limit ended one or kept it back.

    Example: turnwise batch triage tickets.jsonl -o results.jsonl --max-cost 5.00
    """
    from turnwise.api.body import MAX_DEADLINE
    from turnwise.cli.batch.batch_run import BatchOptions, BatchRun, exit_code, sentence
    from turnwise.cli.batch.items_file import checked
    from turnwise.cli.connections import connect
    from turnwise.cli.output_file import check_output

    if anew and not retry_failed:
        raise typer.BadParameter("--anew is for --retry-failed")
    if can_wait is not None and not can_wait <= MAX_DEADLINE:
        raise typer.BadParameter(f"--can-wait is {can_wait:g}; expected seconds, at most {MAX_DEADLINE:.0f} (a year)")
    options = BatchOptions(
        name=name or file.stem,
        max_cost=usd(max_cost),
        max_tokens=max_tokens,
        concurrency=concurrency,
        can_wait=can_wait,
        retry_failed=retry_failed,
        anew=anew,
    )
    check_output(output)
    if output is not None and output.exists() and output.samefile(file):
        raise ConfigurationError(f"--output is {str(output)!r}, the file of items itself; name another file")
    items = checked(file, budgeted=options.budgeted)
    with connect(url) as client:
        run = BatchRun(client, task, items, options)
        with _told_of_an_interruption():
            found = run.cancel() if cancel else run.send()
            if not no_wait:
                found = run.follow(found)
                if output is not None or not as_json:
                    run.write(found, output)
    if as_json:
        typer.echo(visible_json(json_of(found)))
    typer.echo(sentence(found), err=True)
    raise typer.Exit(0 if no_wait else exit_code(found))


@contextmanager
def _told_of_an_interruption() -> Iterator[None]:
    """End with 130 at Ctrl-C, and say that the items that were sent go on."""
    try:
        yield
    except (EnvironmentFault, QuotaExceededError):
        typer.echo("The items that were sent go on; the same command continues.", err=True)
        raise
    except KeyboardInterrupt:
        told = "Interrupted. The items that were sent go on; the same command continues, and with --cancel ends them."
        typer.echo(told, err=True)
        raise typer.Exit(_INTERRUPTED) from None
