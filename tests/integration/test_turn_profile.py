"""The demands of a turn on the database and the bus, in counts that no machine changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.account import watched
from bench.profile.embedded import profile
from bench.profile.turn import Turn
from tests.support.services import migrated_postgres

from turnwise.record.database.database import Database

_TURNS = 40


@dataclass(frozen=True)
class Bounds:
    """The most that a turn may need. Whoever lowers a figure lowers it here, too.

    The first move, the submission and the last move are shared among all turns, which the fractions allow for; so are
    looks that are repeated every second, of which there are more on a slow machine.
    """

    statements: float
    commits: float
    messages: float
    notices: float
    round_trips: float

    def check(self, turn: Turn) -> None:
        for name, most in vars(self).items():
            assert getattr(turn, name) <= most, f"{name}: {turn.table()}"


_ON_SQLITE = [
    ("worker", Bounds(statements=13, commits=1.1, messages=0.06, notices=0, round_trips=0)),
    ("pools", Bounds(statements=16, commits=2.1, messages=1.03, notices=0, round_trips=0)),
    ("coordinator", Bounds(statements=20.6, commits=3.1, messages=2.1, notices=0, round_trips=0)),
]
_ON_POSTGRESQL = [
    ("worker", Bounds(statements=1.6, commits=1.1, messages=0.06, notices=0, round_trips=1.8)),
    ("pools", Bounds(statements=3.2, commits=2.1, messages=1.03, notices=0, round_trips=3.4)),
    ("coordinator", Bounds(statements=7.1, commits=3.1, messages=2.1, notices=0, round_trips=8.2)),
]


def _profile(by: str, url: str | None = None) -> Turn:
    """Measure a turn that is carried on by a worker, goes from pool to pool, or is moved by coordinators."""
    return profile(_TURNS, url, moves="coordinator" if by == "coordinator" else "worker", pools=by == "pools")


@pytest.mark.parametrize(("by", "bounds"), _ON_SQLITE)
def test_a_turn_on_sqlite(by: str, bounds: Bounds) -> None:
    bounds.check(_profile(by))


@pytest.mark.parametrize(("by", "bounds"), _ON_POSTGRESQL)
def test_a_turn_on_postgresql(by: str, bounds: Bounds) -> None:
    with migrated_postgres() as url:
        turn = _profile(by, url)
    bounds.check(turn)
    assert turn.round_trips > 0, turn.table()


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
