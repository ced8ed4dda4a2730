"""`turnwise`: every command, each loaded with what it needs when it is run."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from typing import Annotated

import typer

from turnwise.cli.commands import (
    batch,
    batches,
    demo,
    doctor,
    init,
    keys,
    lists,
    mcp,
    pauses,
    port,
    record,
    replay,
    retry_and_fork,
    runs,
    schedules,
    services,
    tenants,
    top,
    webhooks,
)
from turnwise.cli.group import BAD_USAGE, Commands
from turnwise.observability.logs import tell_fault

app = typer.Typer(
    name="turnwise",
    cls=Commands,
    help="Durable conversations between LLM agents, tools and humans. Begin with: turnwise demo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    # An error that Turnwise foresees is one line (see `Commands`); any other keeps Python's own traceback.
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from turnwise import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def turnwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Durable conversations between LLM agents, tools and humans. Begin with: turnwise demo"""


demo.register(app)
init.register(app)
services.register(app)
mcp.register(app)
doctor.register(app)
record.register(app)
replay.register(app)
port.register(app)
runs.register(app)
batch.register(app)
batches.register(app)
retry_and_fork.register(app)
lists.register(app)
top.register(app)
schedules.register(app)
pauses.register(app)
keys.register(app)
tenants.register(app)
webhooks.register(app)


# A full disk, a full quota, and a device that fails.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main() -> None:
    """The console script."""
    # A character that the output's encoding does not have is written as an escape.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except OSError as error:
        # An error of a file has its name.
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _give_up_output(error)
    except SystemExit:
        try:
            sys.stdout.flush()
        except OSError as error:
            _give_up_output(error)
        raise
    finally:
        # Or Python looks through all that was loaded once more on its way out: a quarter of a short command's time.
        gc.freeze()


def _give_up_output(error: OSError) -> None:
    """Say why standard output cannot be written, and exit; what is left of it is thrown away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    tell_fault(f"cannot write to standard output: {error.strerror}; make room, or send it elsewhere")
    raise SystemExit(BAD_USAGE) from error


if __name__ == "__main__":
    main()
