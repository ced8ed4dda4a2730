"""The console that results are printed on, and texts in a given number of its cells; a wide character takes two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from turnwise.base.text import visible

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


# As wide as needed where the output is no terminal: a pipe or a file.
_ENDLESS = 1_000_000


class SafeConsole(Console):
    """Prints texts as they are: no markup or emoji codes in them, and nothing that a terminal would obey.

    Models, tools and strangers write much of what is printed. What lays lines out makes them visible before it counts
    their cells; here nothing gets past, whoever prints it.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, their texts visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def console() -> Console:
    """Return where results go; not on a terminal it is as wide as needed, so that no line is cut."""
    found = SafeConsole(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = _ENDLESS
    return found


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the rows under the names of their columns, each text as it is and on one line."""
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console().print(table)
