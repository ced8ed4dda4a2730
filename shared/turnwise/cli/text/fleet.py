"""Workers, queues and pauses on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from turnwise.base.text import visible
from turnwise.cli.text.ages import age, age_of
from turnwise.cli.text.console import console
from turnwise.cli.text.messages import Json

# States of the API in the words of an operator.
_STATES = {"alive": "live", "dead": "gone"}
_LOOK = {"live": "green", "draining": "yellow", "deaf": "red", "gone": "red"}
_NUMBERS = ("leased", "runnable", "delayed", "paused", "oldest", "workers", "age", "last beat")
# Columns that are written on several lines where the terminal is narrow; the others stay whole.
_FOLDS = ("process", "queues", "version", "queue", "name", "reason", "")


def print_pauses(pauses: Iterable[Json]) -> None:
    """A table, one pause per line."""
    table = _table("kind", "name", "for", "by", "reason")
    for pause in pauses:
        _add(table, pause["kind"], pause["name"], age_of(pause["since"]), pause["paused_by"], pause["reason"])
    console().print(table)


def print_workers(workers: Iterable[Json]) -> None:
    """A table, one process per line."""
    table = _table("process", "kind", "queues", "version", "state", "leased", "age", "last beat")
    for worker in workers:
        state = str(_STATES.get(str(worker["state"]), worker["state"]))
        _add(
            table,
            f"{worker['pid']}@{worker['host']}",
            worker["kind"],
            ", ".join(worker["queues"]),
            worker["version"],
            Text(state, style=_LOOK.get(state, "")),
            str(worker["leased"]),
            age_of(worker["started_at"]),
            age_of(worker["beat_at"]),
        )
    console().print(table)


def print_queues(queues: Iterable[Json]) -> None:
    """A table, one queue per line."""
    table = _table("queue", "runnable", "leased", "delayed", "paused", "oldest", "workers", "")
    for queue in queues:
        counts = (queue[name] for name in ("runnable", "leased", "delayed", "paused_asks"))
        lacks = not queue["workers"] and queue["backlog"]
        note = "is paused" if queue["paused"] else "no worker serves it" if lacks else ""
        oldest = age(queue["oldest_age"]) if queue["runnable"] else "-"
        _add(
            table,
            queue["queue"],
            *map(str, counts),
            oldest,
            str(queue["workers"]),
            Text(note, style="red" if lacks else ""),
        )
    console().print(table)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        folds = name in _FOLDS
        table.add_column(
            name,
            justify="right" if name in _NUMBERS else "left",
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
        )
    return table


def _add(table: Table, *cells: str | Text | None) -> None:
    """Add a row; a cell is shown as it is, whoever wrote it."""
    table.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell or "")) for cell in cells))
