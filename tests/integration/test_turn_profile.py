"""The demands of a turn on the database and the bus, in counts that no machine changes."""

from __future__ import annotations

from pathlib import Path

from bench.account import watched
from bench.profile.embedded import profile
from bench.profile.turn import Turn
from tests.support.services import migrated_postgres

from turnwise.record.database.database import Database

_TURNS = 40


def _check(turn: Turn) -> None:
    """Compare with what a turn is known to need. Whoever lowers a figure lowers it here, too.

    The first move, the submission and the last move are shared among all turns, which the fractions allow for.
    """
    assert turn.statements <= 22.8, turn.table()
    assert turn.commits <= 3.1, turn.table()
    assert turn.messages <= 2.1, turn.table()
    assert turn.notices <= 1.1, turn.table()


def test_a_turn_on_sqlite() -> None:
    turn = profile(_TURNS)
    _check(turn)
    assert turn.round_trips == 0


def test_a_turn_on_postgresql() -> None:
    with migrated_postgres() as url:
        turn = profile(_TURNS, url)
    _check(turn)
    assert 2 < turn.round_trips <= 18.5, turn.table()


def test_an_account_counts_what_its_parts_ask_of_the_database(tmp_path: Path) -> None:
    class Part:
        def work(self, database: Database) -> None:
            with database.begin() as connection:
                connection.exec_driver_sql("CREATE TABLE one (n INTEGER)")
                connection.exec_driver_sql("INSERT INTO one VALUES (1)")
            with database.read() as connection:
                connection.exec_driver_sql("SELECT n FROM one").all()

    account = watched()
    try:
        account.watch(Part, "work", lambda *_: "part")
        database = Database(f"sqlite:///{tmp_path}/one.db")
        Part().work(database)
        with database.begin() as connection:  # outside of every part
            connection.exec_driver_sql("DELETE FROM one")
        database.close()
        ((name, cost),) = account.costs(1).items()
        assert (name, cost.calls, cost.statements, cost.commits) == ("part", 1, 3, 1)
    finally:
        account.close()
