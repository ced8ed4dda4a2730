"""Messages to the operator about errors of the database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import exc

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.database.faults import translated


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (psycopg.errors.DeadlockDetected("deadlock detected"), "gave up a transaction, .* try again"),
        (psycopg.errors.SerializationFailure("could not serialize"), "gave up a transaction, .* try again"),
        (psycopg.errors.LockNotAvailable("canceling statement"), "gave up a transaction, .* try again"),
        (psycopg.errors.DiskFull("could not extend file"), "has no room left on its disk .*; free some"),
        (
            psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT"),
            "takes no writes now: .*; wait for the failover",
        ),
        (
            psycopg.errors.InsufficientPrivilege("permission denied for table replies"),
            "refuses its user a permission .*; have it granted, or run `turnwise migrate` as the services' user",
        ),
        (psycopg.errors.TransactionTimeout("terminating connection"), "gave up a transaction, .* try again"),
        (psycopg.errors.DataCorrupted("invalid page"), "met an error of its own .*; look at the log of its server"),
        (
            psycopg.errors.IdleInTransactionSessionTimeout("terminating connection"),
            "gave up a transaction, .* try again",
        ),
        (psycopg.errors.QueryCanceled("canceling statement"), "cut off a statement, .* raise statement_timeout"),
        (psycopg.errors.AdminShutdown("terminating connection"), "ended a connection .*; try again, or start"),
        (psycopg.errors.CrashShutdown("terminating connection"), "ended a connection .*; try again, or start"),
        (psycopg.OperationalError("server closed the connection unexpectedly"), "does not answer"),
    ],
)
def test_the_message_tells_a_server_that_answered_from_one_that_is_away(
    cause: psycopg.Error, told: str, wrapped: bool
) -> None:
    error = exc.DBAPIError.instance("SELECT 1", {}, cause, psycopg.Error) if wrapped else cause

    found = translated(error, "postgresql://host/name", is_postgres=True)

    assert isinstance(found, DatabaseUnavailableError)
    with pytest.raises(DatabaseUnavailableError, match=f"^the database postgresql://host/name {told}"):
        raise found


def test_an_error_means_the_same_of_the_driver_and_of_sqlalchemy() -> None:
    def meant(error: Exception) -> type[Exception] | None:
        found = translated(error, "postgresql://host/name", is_postgres=True)
        return None if found is None else type(found)

    for kind in vars(psycopg.errors).values():
        if not isinstance(kind, type) or not issubclass(kind, psycopg.Error) or kind is psycopg.Error:
            continue
        cause = kind("an error")
        wrapped = exc.DBAPIError.instance("SELECT 1", {}, cause, psycopg.Error)
        assert meant(cause) is meant(wrapped), kind


def test_a_file_on_a_full_disk_is_told_from_a_wrong_address(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE kept (value BLOB)")
        connection.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as full:
            connection.execute("INSERT INTO kept VALUES (zeroblob(100000))")

    found = translated(full.value, f"sqlite:///{file}", is_postgres=False)

    assert isinstance(found, DatabaseUnavailableError)
    told = f"has no room left on its disk (database or disk is full); make room on the disk of {file}"
    assert str(found).endswith(told)
