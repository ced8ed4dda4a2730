"""The console that results are printed on."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from turnwise.base.visible_text import visible

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
