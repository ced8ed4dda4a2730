"""The same store over each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.services import migrated_postgres

from turnwise.runs.database import Database
from turnwise.runs.store import Store


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """One migrated PostgreSQL database for the whole test run."""
    with migrated_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database, empty or with other tests' runs in it."""
    if request.param == "postgres":
        made = Database(request.getfixturevalue("postgres_url"))
    else:
        made = Database(f"sqlite:///{tmp_path / 'turnwise.db'}")
        made.migrate()
    yield made
    made.close()


@pytest.fixture
def store(database: Database) -> Store:
    """A store with a lease so short that tests can outlive it."""
    return Store(database, lease_seconds=0.3)
