"""A run's timeline on the terminal: a sentence, the sums, and a bar for each ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from turnwise.api.timeline import ItemView, SpanView, TimelineView
from turnwise.cli.text.console import console, cut, fitted, one_line
from turnwise.timeline.sentences import duration

if TYPE_CHECKING:
    from turnwise.client import Client

# The sign of each kind in a bar, so that it can be read without colours, and its colour.
SIGNS = {
    "queue": ("░", "yellow"),
    "model": ("█", "green"),
    "tool": ("▓", "blue"),
    "human": ("h", "magenta"),
    "provider": ("p", "red"),
    "batch": ("B", "yellow"),
    "outage": ("o", "red"),
    "budget": ("b", "red"),
    "retry": ("r", "red"),
    "lost": ("x", "bold red"),
    "parked": ("!", "magenta"),
    "session": ("s", "magenta"),
    "paused": ("=", "magenta"),
    "worker": ("w", "cyan"),
    "move": ("m", "cyan"),
    "over": ("-", "dim"),
    "unknown": ("?", "dim"),
}
_WIDEST = 120
# A run with more items than this shows its slowest asks.
MOST_ITEMS = 60
_PAGE = 1_000


def whole(client: Client, run_id: str) -> TimelineView:
    """The timeline with all of its items."""
    found = client.timeline(run_id, limit=_PAGE)
    while found.next_after is not None:
        page = client.timeline(run_id, after=found.next_after, limit=_PAGE)
        found = page.model_copy(update={"items": [*found.items, *page.items]})
    return found


def print_timeline(view: TimelineView) -> None:
    """Print all of it, as wide as the terminal, at most 120 columns."""
    out = console()
    width = min(out.width, _WIDEST)
    for line in timeline_lines(view, width):
        out.print(line, soft_wrap=True)


def timeline_lines(view: TimelineView, width: int) -> Iterable[Text]:
    """The lines; none is wider than `width` but for the summary."""
    yield Text(one_line(f"{view.run}  task {view.task}  {view.status}  {duration(view.seconds)}"))
    yield Text(one_line(view.summary), style="bold")
    whole_run = [SpanView(kind=one.kind, name=one.name, start=0, seconds=one.seconds) for one in view.shares]
    if view.seconds > 0:
        yield _bar(whole_run, view.seconds, width)
    yield from _shares(view, width)
    items = view.items
    if view.total > len(items):
        items = sorted(view.slowest, key=lambda item: item.no)
        yield Text(f"The {len(items)} slowest of {view.total:,}; --json has all:", style="dim")
    yield from _items(items, width)


def _shares(view: TimelineView, width: int) -> Iterable[Text]:
    for one in view.shares:
        sign, style = SIGNS.get(one.kind, SIGNS["unknown"])
        line = Text(sign, style=style)
        line.append(
            f" {fitted(one_line(one.text), width - 34)}{duration(one.seconds):>10}{100 * one.share:>6.1f} %", style=""
        )
        line.append(f"{one.times:>8}x", style="dim")
        yield line


def _items(items: Sequence[ItemView], width: int) -> Iterable[Text]:
    longest = max((item.seconds for item in items), default=0.0)
    label, room = 24, width - 24 - 2 * 9 - 2
    for item in items:
        line = Text(fitted(one_line(_label(item)), label))
        line.append(f"{_at(item.start):>9}{duration(item.seconds):>9}  ", style="dim")
        line.append_text(_bar(item.spans, longest, room) if longest > 0 else Text())
        yield line
        yield from _attempts(item, width)


def _attempts(item: ItemView, width: int) -> Iterable[Text]:
    """Return what became of attempts that gave no answer; and who gives one now."""
    for one in item.attempts:
        if one.outcome == "answered":
            continue
        where = f"{one.host} (pid {one.pid})" if one.host else one.worker or "an unknown worker"
        why = f": {' '.join(one.reason.split())}" if one.reason else ""
        took = "" if one.claimed_at is None else f" after {duration((one.ended_at - one.claimed_at).total_seconds())}"
        text = f"    {_WORDS.get(one.outcome, one.outcome)} {where}{took}{why}"
        yield Text(cut(one_line(text), width), style="dim")


_WORDS = {
    "deferred": "deferred by",
    "lost": "lost with",
    "released": "released by",
    "parked": "parked by",
    "working": "in work at",
    "cut": "cancelled at",
}


def _label(item: ItemView) -> str:
    if item.kind == "begin" and not item.ask:
        return "  begin"
    if item.kind == "over" and not item.ask:
        return "  retried"
    return f"{item.turn:>4} {item.responder:<5} {item.task}"


def _at(start: float) -> str:
    return f"+{duration(start)}"


def _bar(spans: Sequence[SpanView], whole_seconds: float, width: int) -> Text:
    """The spans side by side, `whole_seconds` being the full width; what is seen at all has a sign of its own."""
    line, drawn, passed = Text(), 0, 0.0
    for span in spans:
        passed += span.seconds
        end = min(width, round(width * passed / whole_seconds))
        if end > drawn:
            sign, style = SIGNS.get(span.kind, SIGNS["unknown"])
            line.append(sign * (end - drawn), style=style)
            drawn = end
    return line
