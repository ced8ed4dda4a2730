"""The same store over each database."""

from __future__ import annotations

import pytest
from tests.support.either_database import database, postgres_url

from turnwise.record.database.database import Database
from turnwise.record.store import Store

__all__ = ["database", "postgres_url"]


@pytest.fixture
def store(database: Database) -> Store:
    """A store with a lease so short that tests can outlive it."""
    return Store(database, lease_seconds=0.3)
