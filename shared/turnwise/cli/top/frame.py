"""One frame of the live view, as lines of the terminal's width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from turnwise.cli.text.ages import age, age_of
from turnwise.cli.text.console import cut, fitted, one_line
from turnwise.cli.text.messages import money
from turnwise.cli.text.run import cost, status, tokens
from turnwise.cli.text.runs import note, took
from turnwise.cli.top.choice import Choice
from turnwise.cli.top.columns import lines_of
from turnwise.cli.top.snapshot import FleetSnapshot, Json, tokens_of

_KEYS = "q quit  ↑↓ select  ↵ watch  f filter  s sort  / search"
_BARS = "▁▂▃▄▅▆▇█"
# Columns from which on an id is whole, and what a run waits for stands beside it.
_WIDE = 130
_NUMBERS = ("runnable", "leased", "delayed", "oldest", "workers", "age", "took", "calls", "tokens", "cost")
_MOST_QUEUES, _MOST_SPENDERS = 6, 4
_LOOKS = {"running": "green", "waiting": "yellow", "failed": "red", "cancelled": "dim", "queued": "cyan"}


@dataclass(frozen=True)
class Size:
    """Of a frame; a frame without a height has all runs, and no line of keys."""

    width: int
    height: int | None = None


def frame(seen: FleetSnapshot, choice: Choice, size: Size, fault: str = "") -> list[Text]:
    """Return the lines of a frame; `fault` says why there is no newer snapshot."""
    above = [*_head(seen, size.width, fault), *_queues(seen, size.width), *_spenders(seen, size.width)]
    runs = choice.visible(seen.runs)
    title = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}: {seen.filter}, {choice.order} first" + _searched(
        choice
    )
    above += [Text(), Text(cut(title, size.width), style="bold")]
    below = [] if size.height is None else [Text(cut(_foot(choice), size.width), style="reverse")]
    room = None if size.height is None else max(size.height - len(above) - len(below) - 1, 1)
    lines = [*above, *_runs(runs, choice, size.width, room)]
    if size.height is None:
        return lines
    lines = lines[: size.height - len(below)]
    return [*lines, *([Text()] * (size.height - len(below) - len(lines))), *below]


def _head(seen: FleetSnapshot, width: int, fault: str) -> list[Text]:
    counts = "  ".join(f"{number} {name}" for name, number in seen.counts.items())
    inbox = f"inbox {seen.questions + seen.parked}"
    first = f"{seen.at:%H:%M:%S} UTC  {counts}  {inbox}  {seen.url}"
    seconds = sum(point["seconds"] for point in seen.points)
    turns = sum(point["turns"] for point in seen.points)
    rate = f"{turns / seconds:.1f} turns/s in 10 min" if seconds else "no turns in 10 min"
    spent = f"today {money(seen.spent['cost'])}{'+?' if seen.spent['unpriced_calls'] else ''}"
    second = f"{rate} {_bars([point['turns'] for point in seen.points])}  {spent}  {seen.spent['tokens']} tokens"
    lines = [Text(cut(one_line(first), width), style="bold"), Text(cut(second, width))]
    return [*lines, Text(cut(one_line(fault), width), style="bold red")] if fault else lines


def _bars(numbers: Sequence[int]) -> str:
    most = max(numbers, default=0)
    return "".join(_BARS[round(number / most * (len(_BARS) - 1))] for number in numbers) if most else ""


def _queues(seen: FleetSnapshot, width: int) -> list[Text]:
    """The queues with the largest backlog."""
    names = ("queue", "runnable", "leased", "delayed", "oldest", "workers", "")
    queues = sorted(seen.queues, key=lambda queue: (-queue["backlog"], queue["queue"]))[:_MOST_QUEUES]
    rows = []
    for queue in queues:
        lacks = not queue["workers"] and queue["backlog"]
        remark = "is paused" if queue["paused"] else "no worker serves it" if lacks else ""
        oldest = age(queue["oldest_age"]) if queue["runnable"] else "-"
        rows.append((*(queue[name] for name in names[:4]), oldest, queue["workers"], remark))
    return _table(lines_of(names, rows, width, flexible="queue", right=_NUMBERS), [row[-1] for row in rows])


def _table(lines: list[str], remarks: Sequence[str]) -> list[Text]:
    looks = ["red" if remark.startswith("no ") else "yellow" if remark else "" for remark in remarks]
    return [
        Text(),
        Text(lines[0], style="bold"),
        *(Text(line, style=look) for line, look in zip(lines[1:], looks, strict=True)),
    ]


def _spenders(seen: FleetSnapshot, width: int) -> list[Text]:
    """Return those that cost the most today; nothing before the first call."""
    if not seen.spenders:
        return []
    names = ("tenant, today" if seen.fleet else "task, today", "calls", "tokens", "cost")
    rows = [
        (one["name"], one["calls"], tokens_of(one), money(one["cost"]) + ("+?" if one["unpriced_calls"] else ""))
        for one in seen.spenders[:_MOST_SPENDERS]
    ]
    return _table(lines_of(names, rows, width, flexible=names[0], right=_NUMBERS), [""] * len(rows))


def _runs(runs: list[Json], choice: Choice, width: int, room: int | None) -> list[Text]:
    """The names of the columns, and as many runs as there is room for, the selected one among them."""
    at = choice.position(runs)
    first = 0 if room is None else max(0, min(at - room // 2, len(runs) - room))
    shown = runs[first : None if room is None else first + room]
    names = ("  run", "task", "status", "age", "took", "tokens", "cost", "waits for, or says")
    rows = [_row(run, width) for run in shown]
    lines = lines_of(names, rows, width, flexible=names[-1], right=_NUMBERS)
    found = [Text(lines[0], style="bold")]
    for number, (line, run) in enumerate(zip(lines[1:], shown, strict=True), start=first):
        marked = room is not None and number == at
        text = fitted(f"> {line[2:]}", width) if marked else line
        found.append(Text(text, style="reverse" if marked else _LOOKS.get(run["status"], "")))
    return found


def _row(run: Json, width: int) -> tuple[str, ...]:
    name = run["id"] if width >= _WIDE else f"…{run['id'][-8:]}"
    facts = (f"  {name}", run["task"], status(run), age_of(run["created_at"]), took(run), str(tokens(run)), cost(run))
    return (*facts, " ".join(note(run).split()))


def _searched(choice: Choice) -> str:
    return f", with {choice.search!r}" if choice.search else ""


def _foot(choice: Choice) -> str:
    return f"/{choice.search}_  (↵ keeps it, Esc clears it)" if choice.searching else _KEYS
