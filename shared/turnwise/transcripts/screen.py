"""A run on the terminal, while it continues."""

from __future__ import annotations

import os
from typing import TextIO

from turnwise.agents.human.terminal import on_screen, shared_terminal
from turnwise.messages.entity import Entity
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.live import LiveAnswer
from turnwise.transcripts.text import Text


def colored(screen: TextIO) -> bool:
    """Return whether to use colours there: on a terminal that has them, unless NO_COLOR is set."""
    return screen.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class ScreenSink:
    """Shows each entry as it comes, and answers of models while they are written.

    What a human typed here is on the screen already.
    """

    def __init__(self, screen: TextIO, *, color: bool) -> None:
        self._screen = screen
        self._text = Text(color=color, times=False)
        self._live: LiveAnswer | None = None

    def open(self, title: RunTitle) -> None:
        """Begin."""
        on_screen.set("")

    def live(self, path: str) -> LiveAnswer:
        """Return what shows the answer that the model of the task `path` is asked for."""
        self._live = LiveAnswer(self._screen, self._text, path)
        return self._live

    def add(self, entry: Entry) -> None:
        """Show the entry."""
        live = self._over()
        content = entry.said.fields.content if entry.said is not None else ""
        typed = entry.responder == Entity.USER.value and entry.kind != "given" and content == on_screen.get()
        if not typed and not (live is not None and live.told(entry)):
            shared_terminal.lines(self._screen, self._text.part(entry))
        if content:
            on_screen.set(content)

    def close(self) -> None:
        """End."""
        self._over()

    def _over(self) -> LiveAnswer | None:
        """The answer that was shown live, which is over, whatever became of it."""
        live, self._live = self._live, None
        if live is not None:
            live.complete()
        return live
