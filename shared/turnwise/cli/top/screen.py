"""The live view on a terminal: keys in, frames out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live

from turnwise.cli.text.console import console
from turnwise.cli.top.choice import Choice
from turnwise.cli.top.feed import Feed
from turnwise.cli.top.frame import Size, frame
from turnwise.cli.top.keys import keys_at_once, read_keys, wait_for_input
from turnwise.cli.top.snapshot import FleetSnapshot, Json

if TYPE_CHECKING:
    from turnwise.client import Client

# Seconds after which ages are shown anew, and the size of the terminal is looked at.
_TICK = 1.0
_PAGE = 10
_LEAVING = ("q", "end of input")
_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -_PAGE, "page down": _PAGE, "home": -10_000, "end": 10_000}

Opening = Callable[[str], None]


class TopScreen:
    """Shows frames until someone leaves. `open_run` shows one run on the terminal, outside of the view."""

    def __init__(self, client: Client, first: FleetSnapshot, seconds: float, open_run: Opening) -> None:
        self._choice = Choice(filter=first.filter)
        self._feed = Feed(client, first, seconds)
        self._open_run = open_run
        self._console = console()
        self._terminal = sys.stdin.fileno()
        self._wanted: str | None = None
        self._left = False

    def show(self) -> None:
        """Return once someone has left."""
        try:
            while not self._left:
                self._watch_all()
                if self._wanted is not None:
                    self._watch_one(self._wanted)
                    self._wanted = None
        finally:
            self._feed.stop()

    def _watch_all(self) -> None:
        """Show frames until someone leaves, or opens a run."""
        with (
            keys_at_once(self._terminal),
            Live(console=self._console, screen=True, auto_refresh=False, redirect_stderr=False) as live,
        ):
            try:
                while not self._left and self._wanted is None:
                    live.update(self._frame(), refresh=True)
                    self._wait()
            except KeyboardInterrupt:
                self._left = True

    def _frame(self) -> Group:
        size = Size(self._console.size.width, self._console.size.height)
        return Group(*frame(self._feed.latest, self._choice, size, self._feed.fault))

    def _wait(self) -> None:
        ready = wait_for_input(_TICK, self._terminal, self._feed.file)
        if self._feed.file in ready:
            self._feed.heard()
        if self._terminal in ready:
            for key in read_keys(self._terminal):
                self._press(key)

    def _press(self, key: str) -> None:
        if self._choice.searching:
            self._type(key)
        elif key in _LEAVING:
            self._left = True
        elif key in _MOVES:
            self._choice = self._choice.moved(self._visible(), _MOVES[key])
        elif key in ("enter", "w"):
            runs = self._visible()
            self._wanted = runs[self._choice.position(runs)]["id"] if runs else None
        elif key == "s":
            self._choice = self._choice.next_order()
        elif key == "f":
            self._choice = self._choice.next_filter()
            self._feed.want(self._choice.filter)
        elif key == "r":
            self._feed.want(self._choice.filter)
        elif key in ("/", "escape"):
            self._choice = replace(self._choice, search="", searching=key == "/")

    def _type(self, key: str) -> None:
        """Change the text that is searched for."""
        text = self._choice.search
        if key == "end of input":
            self._left = True
        elif key in ("enter", "escape"):
            self._choice = replace(self._choice, search="" if key == "escape" else text, searching=False)
        elif key == "backspace":
            self._choice = replace(self._choice, search=text[:-1])
        elif key.isprintable() and len(key) == 1:
            self._choice = replace(self._choice, search=text + key)

    def _visible(self) -> list[Json]:
        return self._choice.visible(self._feed.latest.runs)

    def _watch_one(self, run: str) -> None:
        """Show a run until it ends or Ctrl-C; then wait for a key."""
        with suppress(KeyboardInterrupt):
            self._open_run(run)
        self._console.print("-- any key returns to the list --", style="reverse")
        # Ctrl-C is such a key: it may have been meant for a run that has just ended.
        with keys_at_once(self._terminal), suppress(KeyboardInterrupt):
            self._left = read_keys(self._terminal) == ["end of input"]
