"""Texts in a given number of a terminal's cells; a wide character takes two."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from turnwise.base.visible_text import visible

_SPACES = str.maketrans("\t\n", "  ")


def one_line(text: object) -> str:
    """The text on one line, with what a terminal would obey as escapes; spaces at its beginning are kept."""
    return visible(str(text)).translate(_SPACES)


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells; the ellipsis at its end says that it was longer."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly `width` cells, cut or filled up with spaces."""
    short = cut(text, width)
    space = " " * (width - cell_len(short))
    return space + short if right else short + space
