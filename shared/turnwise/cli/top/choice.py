"""The part of a snapshot that the person at the terminal wants to see: filter, search, order, and the selected run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from turnwise.cli.text.ages import since
from turnwise.cli.text.runs import note
from turnwise.cli.top.snapshot import FILTERS, Json, tokens_of


def _took(run: Json) -> float:
    begun = since(run["started_at"]) or 0.0
    return begun - (since(run["finished_at"]) or 0.0)


# Orders by name; the largest comes first.
ORDERS: dict[str, Callable[[Json], Any]] = {
    "newest": lambda run: run["created_at"],
    "longest": _took,
    "cost": lambda run: Decimal(run["usage"]["cost"]),
    "tokens": lambda run: tokens_of(run["usage"]),
}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`selected` is the id of a run; it stays selected while others come and go."""

    filter: str = "unfinished"
    order: str = "newest"
    search: str = ""
    searching: bool = False
    selected: str | None = None

    def visible(self, runs: list[Json]) -> list[Json]:
        """Return the runs that match the search, in order."""
        wanted = self.search.lower()
        found = [run for run in runs if wanted in _text(run)]
        return sorted(found, key=ORDERS[self.order], reverse=True)

    def position(self, runs: list[Json]) -> int:
        """Return the place of the selected run among the visible ones; 0 if it is not there."""
        return next((at for at, run in enumerate(runs) if run["id"] == self.selected), 0)

    def moved(self, runs: list[Json], by: int) -> Choice:
        """Select the run that is so many places away, at most the first or the last."""
        if not runs:
            return self
        at = min(max(self.position(runs) + by, 0), len(runs) - 1)
        return replace(self, selected=runs[at]["id"])

    def next_filter(self) -> Choice:
        """Show the runs of the next filter."""
        return replace(self, filter=_after(list(FILTERS), self.filter), selected=None)

    def next_order(self) -> Choice:
        """Show them in the next order."""
        return replace(self, order=_after(list(ORDERS), self.order))


def _after(names: list[str], name: str) -> str:
    return names[(names.index(name) + 1) % len(names)]


def _text(run: Json) -> str:
    return " ".join((run["id"], run["task"], *run["tags"], note(run))).lower()
