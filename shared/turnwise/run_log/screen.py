"""A run on the terminal, while it goes on."""

from __future__ import annotations

from typing import TextIO

from turnwise.agents.terminal import on_screen
from turnwise.entity import Entity
from turnwise.run_log.entry import Entry, RunTitle
from turnwise.run_log.text import Text


class ScreenSink:
    """Shows each entry as it comes; what a human typed here is on the screen already."""

    def __init__(self, screen: TextIO, *, color: bool) -> None:
        self._screen = screen
        self._text = Text(color=color, times=False)

    def open(self, title: RunTitle) -> None:
        """Begin."""
        on_screen.set("")

    def add(self, entry: Entry) -> None:
        """Show the entry."""
        content = entry.said.fields.content if entry.said is not None else ""
        typed = entry.responder == Entity.USER.value and entry.kind != "given" and content == on_screen.get()
        if not typed:
            self._screen.write(self._text.part(entry))
            self._screen.flush()
        if content:
            on_screen.set(content)

    def close(self) -> None:
        """End."""
