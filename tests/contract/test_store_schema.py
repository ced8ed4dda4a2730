"""The schema, and what is said when the database is not what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.databases import fresh_postgres

from turnwise.errors import AlreadyServedError, ConfigurationError, DatabaseUnavailableError, SchemaVersionError
from turnwise.runs.database import Database
from turnwise.runs.lock import EmbeddedLock
from turnwise.runs.migration import config
from turnwise.runs.records import NewHistory, Reply, WorkerInfo
from turnwise.runs.schema import metadata
from turnwise.runs.store import Store


def test_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    database.migrate()
    database.check_schema()

    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


# A run of version 0001 that waits for its model, as it lies in the database.
_RUN_OF_0001 = """
    INSERT INTO runs (id, tenant, task, version, status, priority, tags, metadata, message, last_seq, awaiting,
                      created_at, started_at)
    VALUES ('{run}', 'default', 'triage', '1', 'running', 0, '[]', '{{}}', '{{}}', 1, 'ask-1', 1.0, 2.0);
    INSERT INTO asks (run_id, id, frame_no, path, agent, responder, queue, turn, try_no, priority, status,
                      max_attempts, extra, created_at)
    VALUES ('{run}', 'ask-1', 1, 'triage', 'triage', 'llm', 'queue', 1, 1, 0, 'runnable', 5, '{{}}', 1.0);
    INSERT INTO agent_states (run_id, key, record, state, history_len, history_epoch, history_tokens)
    VALUES ('{run}', 'triage', NULL, '{{"visits": 1}}', 1, 0, 2);
    INSERT INTO histories (run_id, key, idx, role, body, tokens, total)
    VALUES ('{run}', 'triage', 0, 'user', '{{"content": "hi"}}', 2, 2)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def of_version_0001(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database as the program of version 0001 left it."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'old.db'}"
        if request.param == "postgres":
            request.getfixturevalue("postgres_url")  # skips where there is no server
            url = stack.enter_context(fresh_postgres())
        database = Database(url)
        stack.callback(database.close)
        with database.begin() as connection:
            command.upgrade(config(connection), "0001")
        _insert(database, "run_old")
        yield database


def _insert(database: Database, run: str) -> None:
    with database.begin() as connection:
        for statement in _RUN_OF_0001.format(run=run).split(";"):
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize("written", ["before the migration", "after it, by a program that is still to be replaced"])
def test_a_run_of_the_version_before_goes_on(of_version_0001: Database, written: str) -> None:
    # given
    of_version_0001.migrate()
    store = Store(of_version_0001)
    run = "run_old"
    if written != "before the migration":
        run = "run_late"
        _insert(of_version_0001, run)
        store.request_cancel("run_old")
    worker = store.register_worker(WorkerInfo(kind="llm", queues=("queue",), host="here", pid=1, version="1"))

    # when
    claim = store.claim("queue", worker)

    # then
    assert claim is not None
    assert claim.run.id == run
    assert (claim.agent.state, claim.agent.history_len) == ({"visits": 1}, 1)
    assert [row.body for row in store.history(run, "triage")] == [{"content": "hi"}]
    assert store.reply(claim, Reply(kind="nothing", history=(NewHistory(role="assistant", body={}),)))
    assert len(store.history(run, "triage")) == 2


def test_the_migration_to_sessions_can_be_taken_back(of_version_0001: Database) -> None:
    of_version_0001.migrate()

    with of_version_0001.begin() as connection:
        command.downgrade(config(connection), "0001")
    _insert(of_version_0001, "run_later")
    of_version_0001.migrate()

    assert [run.id for run in Store(of_version_0001).runs()[0]] == ["run_old", "run_later"]


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
