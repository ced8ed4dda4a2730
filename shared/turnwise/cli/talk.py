"""Talking with a task on the terminal: one run, or one for each message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from turnwise.cli.follow import follow
from turnwise.constants import USER_QUIT_STRINGS
from turnwise.ids import new_id

if TYPE_CHECKING:
    from turnwise.client import Client


def talk(client: Client, task: str, message: str | None, session: str | None) -> int:
    """The exit code: 0 if all runs completed, or the last one waits for an answer.

    A task that keeps its conversation gets run after run of one session, until the human has said enough: the end of
    the input, or a word to quit with. Of any other task a run would know nothing of the one before, so it gets one.
    """
    first = message if message is not None else typer.prompt("You", prompt_suffix="> ")
    if not _keeps_conversation(client, task):
        return follow(client, str(client.submit(task, first, session_id=session)["id"]), ask=True)
    session = session or new_id("chat")
    following: str | None = first
    while following is not None:
        run_id = str(client.submit(task, following, session_id=session)["id"])
        code = follow(client, run_id, ask=True)
        run = client.run(run_id)
        if code or run["finished_at"] is None or run["status_code"] == "USER_QUIT":
            return code
        following = _more()
    typer.echo(f"Go on with: turnwise chat {task} --session {session}", err=True)
    return 0


def _keeps_conversation(client: Client, task: str) -> bool:
    # An unknown task is refused when it is submitted, with the names of those that there are.
    return any(known["name"] == task and known["keeps_conversation"] for known in client.tasks())


def _more() -> str | None:
    """What the human says next; None for nothing more."""
    try:
        text = str(typer.prompt("You", prompt_suffix="> "))
    except typer.Abort:
        typer.echo(err=True)
        return None
    return None if text.strip() in USER_QUIT_STRINGS else text
