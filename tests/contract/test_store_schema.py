"""The schema, and what is said when the database is not what it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError
from tests.contract.brokers import until
from tests.support.databases import fresh_postgres

from turnwise.errors import AlreadyServedError, ConfigurationError, DatabaseUnavailableError, SchemaVersionError
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database import migration
from turnwise.record.database.database import Database
from turnwise.record.database.file_lock import EmbeddedLock
from turnwise.record.database.migration import config
from turnwise.record.database.schema import SCHEMA_VERSION, metadata
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import NewHistory


def test_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    database.migrate()
    database.check_schema()

    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.parametrize(("table", "statuses"), [("runs", RunStatus), ("asks", AskStatus)])
def test_the_database_allows_the_statuses_of_the_code_and_no_others(
    database: Database, table: str, statuses: type[RunStatus | AskStatus]
) -> None:
    database.migrate()

    with database.read() as connection:
        (found,) = sa.inspect(connection).get_check_constraints(table)

    assert found["name"] == f"ck_{table}_status"
    assert re.findall(r"'(\w+)'", found["sqltext"]) == list(statuses)


@pytest.mark.parametrize("table", ["runs", "asks"])
def test_a_status_that_there_is_not_is_refused_by_the_database(of_version_0001: Database, table: str) -> None:
    of_version_0001.migrate()

    with pytest.raises(IntegrityError, match=f"ck_{table}_status"), of_version_0001.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET status = 'lost'")


@pytest.mark.postgres
def test_rows_of_before_are_checked_without_a_lock_of_the_tables(postgres_url: str) -> None:
    with fresh_postgres() as url:
        database = Database(url)
        with database.begin() as connection:
            command.upgrade(config(connection), "0009")
        _insert(database, "run_old")

        # when the migration was cut off between its two transactions
        with database.begin() as connection:
            command.upgrade(config(connection), "head")
        unchecked = "SELECT conname FROM pg_constraint WHERE NOT convalidated ORDER BY 1"
        with database.read() as connection:
            assert connection.exec_driver_sql(unchecked).scalars().all() == ["ck_asks_status", "ck_runs_status"]

        # then the next one completes it, beside a transaction that has written both tables
        with database.begin() as other:
            other.exec_driver_sql("UPDATE runs SET priority = 1")
            other.exec_driver_sql("UPDATE asks SET priority = 1")
            database.migrate()
        with database.read() as connection:
            assert not connection.exec_driver_sql(unchecked).scalars().all()
        database.close()


@pytest.mark.postgres
def test_a_migration_does_not_queue_for_long_behind_a_transaction_that_has_a_table(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "_PAUSES", (0,))
    with fresh_postgres() as url:
        database = Database(url)
        with database.begin() as connection:
            command.upgrade(config(connection), "0009")

        with database.begin() as backup:
            backup.exec_driver_sql("SELECT count(*) FROM runs")
            with pytest.raises(SchemaVersionError, match="another transaction, such as a backup"):
                database.migrate()
        assert database.schema_version() == "0009"

        database.migrate()
        assert database.schema_version() == SCHEMA_VERSION
        database.close()


@pytest.mark.postgres
def test_a_migration_that_was_in_a_deadlock_tries_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "_PAUSES", (0, 0))
    with fresh_postgres() as url, ThreadPoolExecutor(1) as pool:
        database = Database(url)
        with database.begin() as connection:
            command.upgrade(config(connection), "0010")

        # given a process that has locked a row of which the next script needs the lock
        with database.begin() as process:
            process.exec_driver_sql("SET LOCAL deadlock_timeout = '1min'")  # so the migration is the one that fails
            process.exec_driver_sql("SELECT oldest_program FROM schema_support FOR UPDATE")

            # when the process needs a table that the script has locked
            migrated = pool.submit(database.migrate)
            assert until(lambda: _someone_waits(database))
            process.exec_driver_sql("SELECT count(*) FROM runs")

        # then
        migrated.result(timeout=60)
        assert database.schema_version() == SCHEMA_VERSION
        database.close()


def _someone_waits(database: Database) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with database.read() as connection:
        return bool(connection.exec_driver_sql(query).scalar_one())


@pytest.mark.parametrize(("before", "after"), [("0009", "0010"), ("0020", "0021")])
def test_a_table_of_sqlite_that_is_copied_keeps_its_rows_and_indexes(tmp_path: Path, before: str, after: str) -> None:
    database = Database(f"sqlite:///{tmp_path / 'old.db'}")
    with database.begin() as connection:
        command.upgrade(config(connection), before)
    _insert(database, "run_old")
    indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('runs', 'asks') AND sql <> ''"
    rows = "SELECT * FROM {}"

    def found() -> list[object]:
        with database.read() as connection:
            asked = (f"{indexes} ORDER BY name", rows.format("runs"), rows.format("asks"))
            return [connection.exec_driver_sql(each).all() for each in asked]

    were = found()
    with database.begin() as connection:
        command.upgrade(config(connection), after)

    assert found() == were
    with database.begin() as connection:
        command.downgrade(config(connection), before)
    assert found() == were
    database.close()


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
        store.tenant(DEFAULT_TENANT).request_cancel("run_old")
    worker = store.process.register_worker(WorkerInfo(kind="llm", queues=("queue",), host="here", pid=1, version="1"))

    # when
    claim = store.worker.claim("queue", worker)

    # then
    assert claim is not None
    assert claim.run.id == run
    assert (claim.agent.state, claim.agent.history_len) == ({"visits": 1}, 1)
    assert [row.body for row in store.inspector.history(run, "triage")] == [{"content": "hi"}]
    assert store.worker.reply(claim, Reply(kind="nothing", history=(NewHistory(role="assistant", body={}),)))
    assert len(store.inspector.history(run, "triage")) == 2


def test_the_migration_to_sessions_can_be_taken_back(of_version_0001: Database) -> None:
    of_version_0001.migrate()

    with of_version_0001.begin() as connection:
        command.downgrade(config(connection), "0001")
    _insert(of_version_0001, "run_later")
    of_version_0001.migrate()

    assert [run.id for run in Store(of_version_0001).inspector.runs()[0]] == ["run_old", "run_later"]


def _say(database: Database, version: str, oldest_program: str) -> None:
    """Let the database be one of a program that there is not yet."""
    with database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
        connection.exec_driver_sql(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def test_a_newer_schema_that_allows_this_program_is_worked_on_and_left_as_it_is(of_version_0001: Database) -> None:
    of_version_0001.migrate()
    _say(of_version_0001, "9998", SCHEMA_VERSION)

    of_version_0001.check_schema()
    of_version_0001.migrate()

    with of_version_0001.read() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == "9998"


def test_a_newer_schema_that_is_too_new_is_refused(of_version_0001: Database) -> None:
    of_version_0001.migrate()
    _say(of_version_0001, "9998", "9997")

    with pytest.raises(SchemaVersionError, match=r"schema version 9998, .* update it"):
        of_version_0001.check_schema()
    with pytest.raises(SchemaVersionError, match="Update this program"):
        of_version_0001.migrate()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def of_another_program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with a table that is not Turnwise's."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'shop.db'}"
        if request.param == "postgres":
            request.getfixturevalue("postgres_url")  # skips where there is no server
            url = stack.enter_context(fresh_postgres())
        database = Database(url)
        stack.callback(database.close)
        with database.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE sessions (id integer PRIMARY KEY)")
        yield database


def test_tables_of_another_program_are_named_and_left_alone(of_another_program: Database) -> None:
    with pytest.raises(SchemaVersionError, match="a table 'sessions' that is not Turnwise's; give Turnwise a database"):
        of_another_program.migrate()

    assert of_another_program.schema_version() is None
    with of_another_program.begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["sessions"]


@pytest.mark.parametrize("version", ["9d3f0a2b11c4", "0009", "0001", "0002"])
def test_versions_of_another_program_are_not_taken_for_a_newer_turnwise(
    of_another_program: Database, version: str
) -> None:
    with of_another_program.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE runs (id integer PRIMARY KEY)")  # not as ours
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{version}')")

    for refused in (of_another_program.migrate, of_another_program.check_schema):
        with pytest.raises(SchemaVersionError, match=f"another program's: its alembic_version is '{version}'"):
            refused()


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_a_first_version_of_turnwise_without_a_run_is_known_as_its_own(of_version_0001: Database, version: str) -> None:
    with of_version_0001.begin() as connection:
        command.upgrade(config(connection), version)
        connection.exec_driver_sql("DELETE FROM documents")
        connection.exec_driver_sql("DELETE FROM runs")

    with pytest.raises(SchemaVersionError, match=rf"has schema version {version}; .* run `turnwise migrate`"):
        of_version_0001.check_schema()
    of_version_0001.migrate()
    of_version_0001.check_schema()


def test_an_older_schema_is_refused(of_version_0001: Database) -> None:
    with pytest.raises(SchemaVersionError, match=r"has schema version 0001; .* run `turnwise migrate`"):
        of_version_0001.check_schema()


def test_each_migration_says_which_programs_may_go_on(of_version_0001: Database) -> None:
    with of_version_0001.begin() as connection:
        scripts = ScriptDirectory.from_config(config(connection))
        for script in list(scripts.walk_revisions())[::-1]:
            command.upgrade(config(connection), script.revision)
            if script.revision >= "0003":
                told = connection.exec_driver_sql("SELECT oldest_program FROM schema_support").scalar_one()
                assert told == script.module.oldest_program
                assert told <= script.revision


# What a program of 0002 writes and reads of the hot path; the columns are all that it knows.
_BY_0002 = """
    INSERT INTO runs (id, tenant, task, version, status, priority, tags, metadata, session_id, message, max_cost,
                      max_tokens, turns, max_turns, deadline_at, last_seq, idempotency_key, body_hash, move_due_at,
                      created_at)
    VALUES ('run_2', 'default', 'triage', '1', 'running', 0, '[]', '{}', NULL, '{}', NULL,
            NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, 1.0);
    INSERT INTO asks (run_id, id, frame_no, path, agent, responder, queue, turn, try_no, message_id, priority, status,
                      max_attempts, due_at, extra, created_at, closed_at)
    VALUES ('run_2', 'ask-1', 1, 'triage', 'triage', 'llm', 'queue', 1, 1, NULL, 0, 'runnable',
            5, NULL, '{}', 1.0, NULL);
    UPDATE runs SET awaiting = 'ask-1', waiting_for = '{"kind": "llm"}' WHERE id = 'run_2';
    INSERT INTO workers (id, kind, queues, host, pid, version, state, lease_until, started_at, beat_at)
    VALUES ('wkr_2', 'responders', '["queue"]', 'here', 1, '1', 'alive', 9e12, 1.0, 1.0);
    UPDATE asks SET status = 'leased', attempts = attempts + 1, token = token + 1, worker_id = 'wkr_2', claimed_at = 2.0
    WHERE run_id = 'run_2' AND id = 'ask-1' AND status = 'runnable';
    INSERT INTO replies (run_id, ask_id, token, kind, accepted, reason, document_id, error, usage, cost, worker_id, at)
    VALUES ('run_2', 'ask-1', 1, 'nothing', true, NULL, NULL, NULL, NULL, NULL, 'wkr_2', 2.0);
    UPDATE asks SET status = 'answered', closed_at = 2.0 WHERE run_id = 'run_2' AND id = 'ask-1';
    INSERT INTO events (run_id, seq, type, at, path, turn, try_no, ask_id, data, document_id)
    VALUES ('run_2', 2, 'turn.replied', 2.0, 'triage', 1, 1, 'ask-1', '{}', NULL);
    UPDATE runs SET last_seq = 2, move_due_at = 2.0 WHERE id = 'run_2'
"""


def test_a_program_of_0002_that_runs_already_works_on_the_new_schema(of_version_0001: Database) -> None:
    of_version_0001.migrate()

    with of_version_0001.begin() as connection:
        for statement in _BY_0002.split(";"):
            connection.exec_driver_sql(statement)

    store = Store(of_version_0001)
    assert "run_2" in store.coordinator.due_moves(limit=1000, patience=0)
    with store.coordinator.locked("run_2") as transaction:
        ask, reply = transaction.open_ask(), transaction.reply()
        assert ask is not None
        assert reply is not None
        assert (ask.status, ask.attempts, reply.accepted) == ("answered", 1, True)


def test_an_empty_database_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    file.touch()
    database = Database(f"sqlite:///{file}")

    with pytest.raises(SchemaVersionError, match="turnwise migrate"):
        database.check_schema()
    with pytest.raises(SchemaVersionError, match="turnwise migrate"):
        Store(database).inspector.run("run_1")
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
