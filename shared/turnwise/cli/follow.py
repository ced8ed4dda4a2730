"""Following one run on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from turnwise.cli.event_lines import ENDS, EventLines
from turnwise.cli.group import FAILED
from turnwise.cli.message_text import Json, document_text
from turnwise.cli.run_text import print_run
from turnwise.cli.silence import Silence
from turnwise.cli.terminal import console
from turnwise.errors import ConflictError
from turnwise.run_log.visible import visible

if TYPE_CHECKING:
    from turnwise.client import Client

_DIALOGUE = frozenset({"human.asked", "human.answered"})


def follow(client: Client, run_id: str, *, as_json: bool = False, ask: bool = False) -> int:
    """Print a run's events to its end, and the result; the exit code: 0 if it completed, else 1.

    When nothing happens for a while, it says why. With `ask`, the run's questions are asked here; at the end of the
    input it is left waiting for its answer, and the exit code is 0.
    """
    out, lines = console(), EventLines(width=400)
    # The end is told with the result; who is asked here need not be told so.
    hidden = ENDS | _DIALOGUE if ask else ENDS
    silence = Silence(client, run_id, lambda sentence: out.print(sentence, style="dim"))
    for event in client.events(run_id) if as_json or ask else silence.between(client.events(run_id)):
        if as_json:
            typer.echo(json.dumps(event, ensure_ascii=False))
        elif (line := lines.line(event)) is not None and event["type"] not in hidden:
            out.print(str(line))
        if ask and event["type"] == "human.asked" and not _answer(client, run_id, event):
            return 0
    run = client.run(run_id)
    if not as_json:
        print_run(run)
    return 0 if run["status"] == "completed" else FAILED


def _answer(client: Client, run_id: str, event: Json) -> bool:
    """Ask and pass on the answer; False at the end of the input."""
    document = (event.get("data") or {}).get("document")
    try:
        text = typer.prompt(
            visible(document_text(document)) or "You", default="", show_default=False, prompt_suffix="\n> "
        )
    except typer.Abort:
        typer.echo(f"\nThe run waits; go on with: turnwise answer {run_id} TEXT", err=True)
        return False
    try:
        client.answer(run_id, text, question=event.get("ask"))
    except ConflictError as error:
        typer.echo(visible(str(error)), err=True)
    return True
