"""Talking with a task on the terminal: one run, or one for each message."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from turnwise.agents.human.terminal import HOW_TO_LEAVE, read_line
from turnwise.api.events import EventView
from turnwise.api.runs import RunView
from turnwise.base.ids import new_id
from turnwise.base.text import visible
from turnwise.cli.chat_screen import ChatScreen
from turnwise.cli.follow import exit_code
from turnwise.cli.options import DEFAULT_URL
from turnwise.errors import ConfigurationError, ConflictError, UnknownTaskError
from turnwise.messages.signals import USER_QUIT_STRINGS

if TYPE_CHECKING:
    from turnwise.client import Client

INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Chat:
    """A conversation with `task`; `run` or `session` is the one to continue with, `url` the gateway's address."""

    client: Client
    task: str
    session: str | None = None
    run: str | None = None
    url: str = DEFAULT_URL

    def hold(self, message: str | None) -> int:
        """Talk until the human leaves or the task ends; the exit code.

        A task that keeps its conversation gets run after run of one session. Of any other task a run would know
        nothing of the one before, so it gets one. A run that waits for an answer is continued with: `run`, or the
        one of `session`. 0 if all runs completed or the human left, 3 if a limit ended one, 130 after Ctrl-C during an
        answer, else 1. However it ends, the human is told how to go on with the session.
        """
        tasks = self.client.tasks()
        keeps = any(known.name == self.task and known.keeps_conversation for known in tasks)
        run, said = self._waiting_run(), message
        session = run.session_id if run is not None else self.session or (new_id("chat") if keeps else None)
        if run is None:
            self._require_task([known.name for known in tasks])
        once, begun = self.run is not None or not keeps, False
        try:
            while True:
                if run is None:
                    said = said if said is not None else _said()
                    if said is None:
                        return 0
                    watch = sys.stdout.isatty()
                    run, said = self.client.submit(self.task, said, session_id=session, watch=watch), None
                begun = True
                code = self._follow(run, said)
                if code is not None or once:
                    return code or 0
                run = said = None
        finally:
            if begun and keeps and session is not None:
                typer.echo(f"To go on: {self._command('--session', session)}", err=True)

    def _follow(self, run: RunView, answer: str | None) -> int | None:
        """Show the run to its end and ask its questions; `answer` is for the first. None to continue after the run."""
        screen = ChatScreen(self.client, run)
        try:
            with closing(screen.questions()) as questions:
                for question in questions:
                    text, answer = screen.ask(question, answer), None
                    if text in USER_QUIT_STRINGS:
                        self._tell_left(run, "waits")
                        return 0
                    self._answer(run, question, text)
        except KeyboardInterrupt:
            screen.interrupted()
            self._tell_left(run, "goes on")
            return INTERRUPTED
        ended = screen.end()
        if ended.status == "completed" and ended.stopped is not None and ended.stopped.limit == "turns":
            return None  # a task that answers once has its turns taken after each message
        return exit_code(ended, screen.last) or None

    def _answer(self, run: RunView, question: EventView, text: str) -> None:
        try:
            self.client.answer(run.id, text, question=question.ask)
        except ConflictError as error:
            typer.echo(visible(str(error)), err=True)

    def _tell_left(self, run: RunView, does: str) -> None:
        back = self._command("--run", run.id)
        typer.echo(f"The run {does}. To come back: {back}", err=True)
        typer.echo(f"To end it: turnwise cancel {run.id}", err=True)

    def _command(self, option: str, value: str) -> str:
        url = "" if self.url == DEFAULT_URL else f" --url {shlex.quote(self.url)}"
        return f"turnwise chat {shlex.quote(self.task)} {option} {shlex.quote(value)}{url}"

    def _require_task(self, names: list[str]) -> None:
        """Refuse a task that a submission would be refused for, before a message is asked for."""
        if self.task not in names:
            known = ", ".join(sorted(set(names))) or "none"
            raise UnknownTaskError(f"the gateway knows no task {self.task!r}; there are: {known}")

    def _waiting_run(self) -> RunView | None:
        """The run to continue with, if there is one; refuses a session that waits for the answer to another task."""
        if self.run is not None:
            run = self.client.run(self.run)
            if run.task != self.task:
                raise ConfigurationError(f"{self.run} is a run of task {run.task}, not of {self.task}")
            if run.finished_at is not None:
                on = f"; to go on: {self._command('--session', run.session_id)}" if run.session_id else ""
                raise ConfigurationError(f"{self.run} has ended, see: turnwise show {self.run}{on}")
            return run
        if self.session is None:
            return None
        waiting = self.client.runs(session=self.session, status="waiting").items
        held = next((run for run in waiting if run.waiting_for and run.waiting_for["kind"] == "human"), None)
        if held is not None and held.task != self.task:
            there = replace(self, task=held.task)._command("--run", held.id)
            raise ConfigurationError(
                f"the session {self.session} is held by {held.id}, a run of task {held.task} that waits for an answer; "
                f"to answer: {there}; to end it: turnwise cancel {held.id}"
            )
        return held


def _said() -> str | None:
    """Return what the human says first, or next; None if he leaves. Without blanks around it."""
    while not (text := read_line(f"You {HOW_TO_LEAVE}: ")):
        pass
    return None if text in USER_QUIT_STRINGS else text
