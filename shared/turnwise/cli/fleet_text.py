"""Workers, queues and pauses on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from turnwise.cli.ages import age, age_of
from turnwise.cli.message_text import Json
from turnwise.cli.run_text import console

# States of the API in the words of an operator.
_STATES = {"alive": "live", "dead": "gone"}
_LOOK = {"live": "green", "draining": "yellow", "deaf": "red", "gone": "red"}
_NUMBERS = ("leased", "runnable", "delayed", "paused", "oldest", "workers", "age", "last beat")


def print_pauses(pauses: Iterable[Json]) -> None:
    """A table, one pause per line."""
    table = _table("kind", "name", "for", "by", "reason")
    for pause in pauses:
        table.add_row(pause["kind"], pause["name"], age_of(pause["since"]), pause["paused_by"], pause["reason"] or "")
    console().print(table)


def print_workers(workers: Iterable[Json]) -> None:
    """A table, one process per line."""
    table = _table("process", "kind", "queues", "version", "state", "leased", "age", "last beat", right=_NUMBERS)
    for worker in workers:
        state = str(_STATES.get(str(worker["state"]), worker["state"]))
        table.add_row(
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
    table = _table("queue", "runnable", "leased", "delayed", "paused", "oldest", "workers", "", right=_NUMBERS)
    for queue in queues:
        counts = (queue[name] for name in ("runnable", "leased", "delayed", "paused_asks"))
        lacks = not queue["workers"] and queue["backlog"]
        note = "is paused" if queue["paused"] else "no worker serves it" if lacks else ""
        oldest = age(queue["oldest_age"]) if queue["runnable"] else "-"
        table.add_row(
            queue["queue"], *map(str, counts), oldest, str(queue["workers"]), Text(note, style="red" if lacks else "")
        )
    console().print(table)


def _table(*names: str, right: Iterable[str] = (), folds: Iterable[str] = ("reason", "queues")) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name not in folds)  # type: ignore[arg-type]  # one of two words
    return table
