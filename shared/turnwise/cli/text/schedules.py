"""Schedules and their ticks on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from turnwise.base.text import visible
from turnwise.cli.text.console import console
from turnwise.cli.text.messages import Json

_LOOK = {"submitted": "green", "refused": "red", "missed": "yellow", "skipped": "dim", "paused": "yellow"}


def print_schedules(schedules: Iterable[Json]) -> None:
    """A table, one schedule per line."""
    table = _table("name", "task", "when", "state", "last", "next")
    for one in schedules:
        last, following = one["last_tick"], one["next_ticks"]
        _add(
            table,
            one["name"],
            one["task"],
            _when(one),
            _marked(one["state"]),
            _marked(last["outcome"]) if last else "-",
            _at(following[0], one) if following else "-",
        )
    console().print(table)


def print_schedule(schedule: Json, ticks: Iterable[Json]) -> None:
    """A schedule, its next ticks, and the last ones."""
    lines = [f"{schedule['name']}  {schedule['id']}", f"task {schedule['task']}  {_when(schedule)}"]
    if schedule["declared_by"]:
        lines.append(f"declared in the code of version {schedule['declared_by']}")
    lines.append(f"missed ticks: {schedule['catch_up']}  overlap: {schedule['overlap']}  {schedule['state']}")
    if schedule["pause_note"] or schedule["paused_by"]:
        lines.append(f"paused by {schedule['paused_by']}: {schedule['pause_note'] or 'no note'}")
    lines += [f"next  {_at(following, schedule)}" for following in schedule["next_ticks"]]
    lines += ["", visible(schedule["message"])]
    console().print(Text("\n".join(visible(line) for line in lines)))
    table = _table("due", "outcome", "run", "")
    for tick in ticks:
        count = f" ({tick['ticks']})" if tick["ticks"] > 1 else ""
        by = f"by {tick['triggered_by']}" if tick["triggered_by"] else ""
        told = tick["reason"] or by
        _add(table, _at(tick["due_at"], schedule), _marked(tick["outcome"], count), tick["run"] or "-", told)
    if table.row_count:
        console().print(table)


def _when(schedule: Json) -> str:
    if schedule["cron"]:
        return f"{schedule['cron']}  {schedule['timezone']}"
    return f"every {schedule['every']:.15g} s" if schedule["every"] else f"once, {_at(schedule['at'], schedule)}"


def _at(moment: str, schedule: Json) -> str:
    """A moment by the wall clock of the schedule."""
    try:
        zone: ZoneInfo | None = ZoneInfo(schedule["timezone"])
    except (LookupError, ValueError, OSError):  # of a server that knows more zones than this machine
        zone = None
    found = datetime.fromisoformat(moment)
    return (found if zone is None else found.astimezone(zone)).isoformat(" ", "seconds")


def _marked(word: str, more: str = "") -> Text:
    return Text(word + more, style=_LOOK.get(word, ""))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, no_wrap=name != "", overflow="fold")
    return table


def _add(table: Table, *cells: str | Text) -> None:
    table.add_row(*(Text(visible(cell)) if isinstance(cell, str) else cell for cell in cells))
