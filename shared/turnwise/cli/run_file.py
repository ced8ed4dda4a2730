"""A run's log as the `show` command writes it: a page, a table or text, to a file or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from turnwise.api.events import EventView
from turnwise.api.runs import RunView
from turnwise.cli.output_file import check_output
from turnwise.cli.output_file import written as opened
from turnwise.cli.text.messages import Json, as_json
from turnwise.transcripts.entry import RunTitle
from turnwise.transcripts.from_events import entries_of
from turnwise.transcripts.page.html import TranscriptPage
from turnwise.transcripts.page.timeline import MOST_ITEMS, timeline_section
from turnwise.transcripts.sink import TranscriptForm, written
from turnwise.transcripts.text import Text
from turnwise.transcripts.tsv import Tsv

if TYPE_CHECKING:
    from turnwise.client import Client


def write_log(client: Client, run_id: str, form: str, output: Path | None) -> None:
    """Write what the run has said so far as `form`: html, tsv or text.

    Raises `ConfigurationError` if `output` cannot be written.
    """
    check_output(output)
    run = client.run(run_id)
    title = RunTitle(task=run.task, run=run.id, state="" if run.finished_at else run.status)
    pieces = written(_form(client, run_id, form, output), title, entries_of(_events_so_far(client, run)))
    if output is None:
        for piece in pieces:
            typer.echo(piece, nl=False)
        return
    with opened(output) as file:
        file.writelines(pieces)


def _form(client: Client, run_id: str, name: str, output: Path | None) -> TranscriptForm:
    if name == "html":
        return TranscriptPage(timeline_section(client.timeline(run_id, limit=MOST_ITEMS)))
    if name == "tsv":
        return Tsv()
    return Text(color=output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))


def _events_so_far(client: Client, run: RunView) -> Iterator[Json]:
    """The events up to the last one that the run has now; a run that continues is not waited for."""
    for event in client.events(run.id):
        if isinstance(event, EventView):
            yield as_json(event)
            if event.seq >= run.last_event:
                return
