"""Rows of cells as lines of a given width: the widest flexible column gives way."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from turnwise.cli.text.console import cut, fitted, one_line

_GAP = "  "
_SHORTEST = 6


def lines_of(
    names: Sequence[str], rows: Sequence[Sequence[object]], width: int, *, flexible: str, right: Sequence[str] = ()
) -> list[str]:
    """Return a line of names and one for each row, none wider than `width`.

    The column `flexible` is cut where there is too little room; the columns named in `right` are aligned there.
    """
    table = [list(names), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(cell_len(row[at]) for row in table) for at in range(len(names))]
    at = list(names).index(flexible)
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    widths[at] = max(min(widths[at], _SHORTEST), widths[at] - max(over, 0))
    return [
        cut(
            _GAP.join(
                fitted(cell, size, right=name in right) for cell, size, name in zip(row, widths, names, strict=True)
            ).rstrip(),
            width,
        )
        for row in table
    ]
