"""UPDATE statements that change a status: each names the states that it changes, and is checked when it is made.

A row in another state is left as it is. Where another process may have been faster (`claim`, a claim of the `sweep`),
the caller looks at the rows that come back. Where the row was read under its run's lock, one that is left as it is
would be a bug, and `change_one` and `require_one` raise. Ending a run cancels as many asks as there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import IllegalTransitionError
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks, runs
from turnwise.record.states import AskStatus, RunStatus, Status, all_passed, sources


def status_in(column: sa.ColumnElement[Any], statuses: Iterable[str]) -> sa.ColumnElement[bool]:
    """The condition that a status is one of those, as constants, so that partial indexes are used."""
    words = [word(status) for status in statuses]
    return column == words[0] if len(words) == 1 else column.in_(words)


def change_runs(target: RunStatus, *froms: RunStatus) -> sa.Update:
    """An UPDATE of runs from one of `froms` (any that may go there) to `target`; the caller adds the rest."""
    return update_runs().where(_from(runs.c.status, target, froms)).values(status=target.value)


def update_runs() -> sa.Update:
    """An UPDATE of runs that raises their revision, as every one has to; the caller says which runs, and adds the rest.

    Whoever carries a run on learns by the revision that another has changed it.
    """
    return sa.update(runs).values(revision=runs.c.revision + 1)


def change_asks(target: AskStatus, *froms: AskStatus) -> sa.Update:
    """An UPDATE of asks from one of `froms` (any that may go there) to `target`; the caller adds the rest."""
    return sa.update(asks).where(_from(asks.c.status, target, froms)).values(status=target.value)


def change_one(connection: Connection, statement: sa.Update, given: Mapping[str, Any], target: AskStatus) -> None:
    """Change the status of the one ask that was read under its run's lock; raise `IllegalTransitionError` otherwise."""
    changed = connection.execute(statement, given).rowcount
    require_one(changed, target, str(given["of_ask"]))


def require_one(changed: int, target: AskStatus | RunStatus, id: str) -> None:
    """Raise `IllegalTransitionError` unless a statement has changed the status of one row."""
    if changed != 1:
        raise illegal_transition(changed, target, id)


def illegal_transition(changed: int, target: AskStatus | RunStatus, id: str) -> IllegalTransitionError:
    """The error for a statement that was to change the status of one row, and has changed so many."""
    return IllegalTransitionError(
        f"{id} was to become {target}, and {changed} rows were changed, not 1: its status is another one than its "
        "transaction has read, or it is gone; read it again under its run's lock"
    )


def _from(column: sa.ColumnElement[Any], target: Status, froms: tuple[Status, ...]) -> sa.ColumnElement[bool]:
    return status_in(column, all_passed(froms, target) or sources(target))
