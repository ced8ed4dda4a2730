"""The findings of `turnwise doctor` about the database."""

from __future__ import annotations

import time

import pytest
from alembic import command
from tests.support.cli import Terminal, terminal
from tests.support.doctor_parts import found, levels, store
from tests.support.services import migrated_postgres
from tests.support.store_parts import new_run

from turnwise.record.database.database import Database
from turnwise.record.database.migration import config
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT

__all__ = ["store", "terminal"]


def test_a_database_that_is_not_there_is_not_made(terminal: Terminal) -> None:
    told = found("database")
    assert told.level == "fault"
    assert "turnwise migrate" in told.mend
    assert not (terminal.folder / "turnwise.db").exists()
    assert found("fleet").level == "note"


def test_a_database_that_does_not_answer_is_named_without_its_password(terminal: Terminal) -> None:
    url = "postgresql://nobody:hidden@127.0.0.1:1/none"
    assert found("database", database_url=url).level == "fault"
    printed = terminal.printed("doctor", "--database", url, "--json", code=1)
    assert "does not answer" in printed
    assert "hidden" not in printed


def test_a_schema_that_is_behind_or_ahead_is_told_apart(store: Store) -> None:
    assert found("schema").level == "ok"
    with store.database.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9998'")
        connection.exec_driver_sql("UPDATE schema_support SET oldest_program = '0003'")
    assert found("schema").level == "warning"
    assert "end the upgrade" in found("schema").mend
    with store.database.begin() as connection:
        connection.exec_driver_sql("UPDATE schema_support SET oldest_program = '9997'")
    assert found("schema").level == "fault"
    assert "update it" in found("schema").said


def test_a_schema_that_was_not_migrated_says_how(terminal: Terminal) -> None:
    database = Database(f"sqlite:///{terminal.folder / 'turnwise.db'}")
    with database.begin() as connection:
        command.upgrade(config(connection), "0003")
    database.close()
    told = found("schema")
    assert told.level == "fault"
    assert "run `turnwise migrate`" in told.said


@pytest.mark.postgres
def test_clocks_that_differ_are_noticed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with migrated_postgres() as url:
        assert found("clock", database_url=url).level == "ok"
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() - 60)
        told = found("clock", database_url=url)
        assert told.level == "warning"
        assert told.said.endswith("differ by 60.0 s")


def test_a_full_disk_and_a_long_log_are_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels()["disk"] == levels()["write-ahead log"] == "ok"
    monkeypatch.setattr("turnwise.cli.doctor.database._ROOM", 1e18)
    monkeypatch.setattr("turnwise.cli.doctor.database._LONG_LOG", 1)
    assert levels()["disk"] == "warning"
    store.tenant(DEFAULT_TENANT).submit(new_run())  # by a connection that stays open, so the log does, too
    assert levels()["write-ahead log"] == "warning"
