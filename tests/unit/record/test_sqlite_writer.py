"""Transactions of SQLite that wait for each other, and have one commit where each would wait for the disk."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite

from turnwise.errors import DatabaseUnavailableError
from turnwise.processes.bootstrap import open_store
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database

_SECONDS = 20.0
_PUT = sa.text("INSERT INTO kept VALUES (:id)")


class Writers:
    """Threads that write one after the other, each when it is let."""

    def __init__(self, file: Path, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self.database = Database(f"sqlite:///{file}", synchronous=synchronous)
        self.commits = 0
        event.listen(self.database.engine, "connect", self._watch)
        with self.database.begin() as connection:
            connection.execute(sa.text("CREATE TABLE kept (id TEXT PRIMARY KEY)"))
            deferred = "CREATE TABLE child (id TEXT REFERENCES kept (id) DEFERRABLE INITIALLY DEFERRED)"
            connection.execute(sa.text(deferred))
        self.commits = 0
        self._threads = ThreadPoolExecutor(16)
        self._let = threading.Event()

    def together(self, *bodies: Callable[[Any], None]) -> list[Future[None]]:
        """Have the first begin, the others come while it is in its transaction, and all finish."""
        begun = threading.Event()

        def first(connection: Any) -> None:
            begun.set()
            assert self._let.wait(_SECONDS)
            bodies[0](connection)

        futures = [self._threads.submit(self.write, first)]
        assert begun.wait(_SECONDS)
        for n, body in enumerate(bodies[1:], 1):
            futures.append(self._threads.submit(self.write, body))
            until(partial(self._wait_for, n), "the next writer to wait", every=0.002)
        self._let.set()
        return futures

    def write(self, body: Callable[[Any], None]) -> None:
        with self.database.begin() as connection:
            body(connection)

    def kept(self) -> list[str]:
        """What others see."""
        with self.database.read() as connection:
            return sorted(connection.execute(sa.text("SELECT id FROM kept")).scalars())

    def close(self) -> None:
        self._let.set()
        self._threads.shutdown()
        self.database.close()

    def _wait_for(self, n: int) -> bool:
        return self.database.writer.waiting == n

    def _watch(self, connection: sqlite3.Connection, _record: Any) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.set_trace_callback(self._count)

    def _count(self, statement: str) -> None:
        self.commits += statement == "COMMIT"


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    made = Writers(tmp_path / "record.db", "FULL")
    yield made
    made.close()


def put(id: str) -> Callable[[Any], None]:
    return lambda connection: connection.execute(_PUT, {"id": id})


def failing(id: str, error: BaseException) -> Callable[[Any], None]:
    def body(connection: Any) -> None:
        connection.execute(_PUT, {"id": id})
        raise error

    return body


def run_by_driver(*statements: str) -> Callable[[Any], None]:
    def body(connection: Any) -> None:
        for statement in statements:
            connection.connection.driver_connection.execute(statement)

    return body


def test_those_who_come_together_have_one_commit(writers: Writers) -> None:
    for future in writers.together(*(put(f"row {n}") for n in range(8))):
        future.result(_SECONDS)

    assert writers.kept() == [f"row {n}" for n in range(8)]
    assert writers.commits == 1


def test_no_one_returns_before_the_commit(writers: Writers) -> None:
    seen: list[tuple[int, list[str], bool]] = []
    told = threading.Event()

    def last(connection: Any) -> None:
        put("last")(connection)
        assert told.wait(_SECONDS)
        its_own = connection.execute(sa.text("SELECT count(*) FROM kept")).scalar_one()
        seen.append((its_own, writers.kept(), futures[0].done()))

    futures = writers.together(put("first"), last)
    told.set()
    for future in futures:
        future.result(_SECONDS)

    assert seen == [(2, [], False)]
    assert writers.kept() == ["first", "last"]


@pytest.mark.parametrize("at", [0, 1, 2], ids=["first", "between", "last"])
def test_one_that_fails_is_undone_by_itself(writers: Writers, at: int) -> None:
    bodies = [put("row 0"), put("row 1"), put("row 2")]
    bodies[at] = failing(f"row {at}", ValueError("of the caller"))
    futures = writers.together(*bodies)

    with pytest.raises(ValueError, match="of the caller"):
        futures[at].result(_SECONDS)
    for n in {0, 1, 2} - {at}:
        futures[n].result(_SECONDS)
    assert writers.kept() == [f"row {n}" for n in range(3) if n != at]
    assert writers.commits == 1


def test_a_commit_that_fails_fails_for_all_of_its_group(writers: Writers) -> None:
    orphan = run_by_driver("INSERT INTO child VALUES ('nowhere')")
    futures = writers.together(put("row 0"), orphan, failing("row 2", ValueError()), put("row 3"))

    for future in futures:
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            future.result(_SECONDS)
    assert writers.kept() == []
    writers.write(put("next"))
    assert writers.kept() == ["next"]
    assert writers.database.pool.in_use == 0


def test_a_transaction_that_sqlite_has_rolled_back_is_lost_for_all_who_had_ended_theirs(writers: Writers) -> None:
    lost = run_by_driver("INSERT OR ROLLBACK INTO kept VALUES ('row 0')")  # as where the disk is full
    futures = writers.together(put("row 0"), lost, put("row 2"))

    for future in futures[:2]:
        with pytest.raises(DatabaseUnavailableError, match="rolled the transaction back"):
            future.result(_SECONDS)
    futures[2].result(_SECONDS)
    assert writers.kept() == ["row 2"]


def test_a_rollback_that_no_exception_told_of_is_an_error(writers: Writers) -> None:
    with pytest.raises(DatabaseUnavailableError, match="rolled the transaction back"):
        writers.write(run_by_driver("INSERT INTO kept VALUES ('gone')", "ROLLBACK"))

    assert writers.kept() == []


def test_who_was_left_the_commit_and_does_not_come_holds_no_one_up(writers: Writers) -> None:
    writers.database.writer._coming.append(None)  # as a signal can leave it

    writers.write(put("alone"))

    assert writers.kept() == ["alone"]


def test_an_interrupted_writer_leaves_nothing_and_stops_no_one(writers: Writers) -> None:
    futures = writers.together(put("row 0"), failing("row 1", KeyboardInterrupt()), put("row 2"))

    with pytest.raises(KeyboardInterrupt):
        futures[1].result(_SECONDS)
    assert [futures[n].result(_SECONDS) for n in (0, 2)] == [None, None]
    assert writers.kept() == ["row 0", "row 2"]


def test_many_threads_lose_nothing(writers: Writers) -> None:
    def many(thread: int) -> None:
        for n in range(20):
            if n % 5 == 4:
                with pytest.raises(ValueError, match="undone"):
                    writers.write(failing(f"{thread} {n}", ValueError("undone")))
            else:
                writers.write(put(f"{thread} {n}"))
                assert f"{thread} {n}" in writers.kept()

    with ThreadPoolExecutor(8) as threads:
        for future in [threads.submit(many, thread) for thread in range(8)]:
            future.result(60)

    assert writers.kept() == sorted(f"{thread} {n}" for thread in range(8) for n in range(20) if n % 5 != 4)


def test_a_commit_that_waits_for_no_disk_is_left_to_no_one(tmp_path: Path) -> None:
    writers = Writers(tmp_path / "record.db", "NORMAL")
    try:
        for future in writers.together(put("row 0"), put("row 1"), put("row 2")):
            future.result(_SECONDS)

        assert writers.commits == 3
    finally:
        writers.close()


@pytest.mark.parametrize(("setting", "level"), [(None, 1), ("NORMAL", 1), ("FULL", 2)])
def test_each_connection_has_the_durability_that_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, level: int
) -> None:
    fresh_sqlite(tmp_path / "record.db").close()
    if setting is not None:
        monkeypatch.setenv("TURNWISE_SQLITE_SYNCHRONOUS", setting)

    database, _ = open_store(load_settings(database_url=f"sqlite:///{tmp_path / 'record.db'}"))

    try:
        for way in (database.begin, database.read):
            with way() as connection:
                assert connection.execute(sa.text("PRAGMA synchronous")).scalar_one() == level
    finally:
        database.close()
