"""The gauges of an installation's runs; each statement reads a partial index, whatever has ended."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from turnwise.record.asks.parking import PARKED
from turnwise.record.database.columns import now, parts_of, word
from turnwise.record.database.schema import asks, runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED, AskStatus, RunStatus
from turnwise.record.transaction.part import RecordPart

# As the partial index has it: SQLite uses the index for no other condition.
_UNFINISHED = status_in(runs.c.status, UNFINISHED)
_waits = status_in(runs.c.status, (RunStatus.QUEUED, RunStatus.WAITING))
_ACTIVE = sa.select(runs.c.status, sa.func.count()).where(_UNFINISHED).group_by(runs.c.status)
_kind = parts_of(runs.c.waiting_for)["kind"].as_string()
_WAITING = (
    sa.select(_kind, sa.func.count())
    # One that is queued waits for its session, or is just about to begin.
    .where(_UNFINISHED, _waits, runs.c.waiting_for.is_not(None))
    .group_by(_kind)
)


def _line(since: sa.Column[float], *conditions: sa.ColumnElement[bool]) -> sa.Select[int, float]:
    return sa.select(sa.func.count(), now() - sa.func.min(since)).where(*conditions)


_MOVES = _line(runs.c.move_due_at, runs.c.move_due_at <= now())
_QUESTIONS = _line(asks.c.created_at, asks.c.status == word(AskStatus.OPEN))
_PARKED = _line(asks.c.parked_at, PARKED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """So many wait for the same thing, the first of them since `oldest_age` seconds (0 where none waits)."""

    length: int = 0
    oldest_age: float = 0.0


class Gauges(RecordPart):
    """Reads without locks."""

    def active_runs(self) -> dict[str, int]:
        """Return how many unfinished runs have each status that occurs."""
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_ACTIVE)}

    def waiting_runs(self) -> dict[str, int]:
        """Return how many runs hold no worker, by what they wait for: human, session, retry, provider, budget or
        parked.
        """
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_WAITING)}

    def due_move_line(self) -> Backlog:
        """Runs whose next move a coordinator has to make."""
        return self._read(_MOVES)

    def question_line(self) -> Backlog:
        """Questions that wait for a human."""
        return self._read(_QUESTIONS)

    def parked_line(self) -> Backlog:
        """Asks that wait until a person says what became of them."""
        return self._read(_PARKED)

    def _read(self, statement: sa.Select[int, float]) -> Backlog:
        with self._database.read() as connection:
            length, age = connection.execute(statement).one()
        return Backlog(length=length, oldest_age=max(age or 0.0, 0.0))
