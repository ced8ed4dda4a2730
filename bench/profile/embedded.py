"""A turn of the embedded server: this process and a database."""

from __future__ import annotations

import os

from bench import embedded, served
from bench.account import watched
from bench.counting import turns_of
from bench.profile.turn import Turn


def profile(turns: int, url: str | None = None, *, moves: str = "worker", pools: bool = False) -> Turn:
    """Measure one conversation of so many turns on the database `url` (default: a SQLite file)."""
    account = watched()
    try:
        with embedded.server(url, moves=moves, pools=pools) as (store, bus):
            served.measure("warm-up", store, bus, 10, 1, _own)
            account.clear()
            served.measure("embedded", store, bus, turns, 1, _own)
            return Turn(way="embedded", parts=account.costs(turns_of(turns)))
    finally:
        account.close()


def _own() -> list[int]:
    return [os.getpid()]
