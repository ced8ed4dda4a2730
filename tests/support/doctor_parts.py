"""An installation as `turnwise doctor` examines it, and its findings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.cli import Terminal, terminal
from tests.support.databases import fresh_sqlite

from turnwise.cli.doctor import Finding, examine
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.store import Store

__all__ = ["terminal"]


@pytest.fixture
def store(terminal: Terminal) -> Iterator[Store]:
    """The record of an installation without a broker, with a living coordinator."""
    database = fresh_sqlite(terminal.folder / "turnwise.db")
    made = Store(database, lease_seconds=3_600)  # no one renews it, and a loaded machine is slow
    made.process.register_worker(
        WorkerInfo(kind="coordinator", queues=("coordinator",), host="here", pid=1, version="2")
    )
    yield made
    database.close()


def found(check: str, **overrides: str) -> Finding:
    """Return the findings of that check."""
    every = list(examine(**overrides))
    return next((each for each in every if each.check == check), Finding(check=check, level="note", said=str(every)))


def levels(**overrides: str) -> dict[str, str]:
    return {each.check: each.level for each in examine(**overrides)}
