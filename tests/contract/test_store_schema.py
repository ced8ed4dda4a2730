"""The schema, and what is said when the database is not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from turnwise.errors import AlreadyServedError, ConfigurationError, DatabaseUnavailableError, SchemaVersionError
from turnwise.runs.database import Database
from turnwise.runs.lock import EmbeddedLock
from turnwise.runs.schema import metadata
from turnwise.runs.store import Store


def test_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    database.migrate()
    database.check_schema()

    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_an_empty_database_is_told_apart(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new.db'}")

    with pytest.raises(SchemaVersionError, match="turnwise migrate"):
        database.check_schema()
    with pytest.raises(SchemaVersionError, match="turnwise migrate"):
        Store(database).run("run_1")
    database.close()


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:1/none", "sqlite:////no/such/directory/file.db"])
def test_a_database_that_does_not_answer_is_named(url: str) -> None:
    database = Database(url)

    with pytest.raises(DatabaseUnavailableError, match="does not answer"):
        database.check_schema()
    database.close()


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/name", "sqlite://", "sqlite:///:memory:"])
def test_a_url_of_no_use_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="TURNWISE_DATABASE_URL"):
        Database(url)


def test_a_second_server_on_the_same_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "turnwise.db"

    with EmbeddedLock(path), pytest.raises(AlreadyServedError, match="another embedded server"):
        EmbeddedLock(path).acquire()

    with EmbeddedLock(path):  # free again
        assert path.with_name("turnwise.db.lock").exists()
