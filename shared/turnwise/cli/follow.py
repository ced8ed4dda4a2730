"""Following one run on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from turnwise.api.events import EventView
from turnwise.api.runs import RunView, StoppedView
from turnwise.base.text import visible, visible_json
from turnwise.cli.group import FAILED, STOPPED
from turnwise.cli.text.console import console
from turnwise.cli.text.event_lines import ENDS, EventLines
from turnwise.cli.text.messages import as_json as json_of
from turnwise.cli.text.run import print_run
from turnwise.cli.wait_notices import WaitNotices

if TYPE_CHECKING:
    from turnwise.client import Client

# How a fork gets a higher limit.
_RAISED = {"cost": "--max-cost USD", "tokens": "--max-tokens N", "turns": "--turns N"}


def follow(client: Client, run_id: str, *, as_json: bool = False) -> int:
    """Print a run's events to its end, and the result.

    The exit code: 0 if the run completed by itself, 3 if a limit of cost, tokens or turns ended it, else 1. A limit
    that ended the run is told on stderr, also with `as_json`. When nothing happens for a while, it says why.
    """
    out, lines = console(), EventLines(width=400)
    silence = WaitNotices(client, run_id, lambda sentence: out.print(sentence, style="dim"))
    last: dict[str, int] = {}
    for event in client.events(run_id) if as_json else silence.between(client.events(run_id)):
        if isinstance(event, EventView):
            last[event.type] = event.seq
        if as_json:
            typer.echo(visible_json(json_of(event)))
        elif (line := lines.line(json_of(event))) is not None and event.type not in ENDS:
            out.print(str(line))  # the end is told with the result
    run = client.run(run_id)
    if not as_json:
        print_run(json_of(run), stopped=False)  # that goes to stderr
    return exit_code(run, last)


def exit_code(run: RunView, last: Mapping[str, int]) -> int:
    """The exit code for a run that has ended; says on stderr which limit ended it. `last` are events by type."""
    if run.stopped:
        _tell_stopped(run, run.stopped, last)
    if run.status != "completed":
        return FAILED
    return STOPPED if run.stopped else 0


def _tell_stopped(run: RunView, stopped: StoppedView, last: Mapping[str, int]) -> None:
    """Say on stderr which limit ended the run, and how to continue with a higher one; `last` are events by type."""
    typer.echo(visible(stopped.message), err=True)
    option = _RAISED.get(stopped.limit)
    # A call that was refused is asked again; where none was, what came of the last question is looked at again.
    at = max(last.get(name, 0) for name in (("turn.asked",) if stopped.why else ("turn.replied", "human.answered")))
    if option is not None and stopped.scope == "run" and at:
        typer.echo(f"Go on with a higher limit: turnwise fork {run.id} --at {at} {option}", err=True)
