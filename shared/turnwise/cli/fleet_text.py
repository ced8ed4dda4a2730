"""Workers, queues and pauses on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from turnwise.cli.ages import age_of
from turnwise.cli.message_text import Json
from turnwise.cli.run_text import console


def print_pauses(pauses: Iterable[Json]) -> None:
    """A table, one pause per line."""
    table = _table("kind", "name", "for", "by", "reason")
    for pause in pauses:
        table.add_row(pause["kind"], pause["name"], age_of(pause["since"]), pause["paused_by"], pause["reason"] or "")
    console().print(table)


def _table(*names: str, right: Iterable[str] = (), folds: Iterable[str] = ("reason",)) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name not in folds)  # type: ignore[arg-type]  # one of two words
    return table
