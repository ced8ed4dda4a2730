"""The display while services run: their lines, each after its service's name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

_COLORS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")


class Screen:
    """Lines of `names`, in colours on a terminal."""

    def __init__(self, names: Sequence[str]) -> None:
        self._console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
        self._colors = dict(zip(names, itertools.cycle(_COLORS), strict=False))
        self._width = max(map(len, names), default=0)

    def line(self, name: str, line: str) -> None:
        """A line of a service."""
        prefix = Text(f"{name:<{self._width}} | ", style=self._colors.get(name, ""))
        self._console.print(prefix + Text.from_ansi(line))

    def say(self, line: str) -> None:
        """A line of our own."""
        self._console.print(Text(line, style="bold"))
