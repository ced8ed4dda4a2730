"""Fixtures of the record on each database; who wants a PostgreSQL of its own has a `postgres_url` of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.services import migrated_postgres

from turnwise.record.database.database import Database


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """One migrated PostgreSQL database for all that import this."""
    with migrated_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database, empty or with other tests' runs in it."""
    if request.param == "postgres":
        made = Database(request.getfixturevalue("postgres_url"))
    else:
        made = fresh_sqlite(tmp_path / "turnwise.db")
    yield made
    made.close()
