"""UPDATE statements that change a status: each names the states that it changes, and is checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks, runs
from turnwise.record.states import AskStatus, RunStatus, Status, all_passed, sources


def status_in(column: sa.ColumnElement[Any], statuses: Iterable[str]) -> sa.ColumnElement[bool]:
    """The condition that a status is one of those, as constants, so that partial indexes are used."""
    words = [word(status) for status in statuses]
    return column == words[0] if len(words) == 1 else column.in_(words)


def change_runs(target: RunStatus, *froms: RunStatus) -> sa.Update:
    """An UPDATE of runs from one of `froms` (any that may go there) to `target`; the caller adds the rest."""
    return sa.update(runs).where(_from(runs.c.status, target, froms)).values(status=target.value)


def change_asks(target: AskStatus, *froms: AskStatus) -> sa.Update:
    """An UPDATE of asks from one of `froms` (any that may go there) to `target`; the caller adds the rest."""
    return sa.update(asks).where(_from(asks.c.status, target, froms)).values(status=target.value)


def _from(column: sa.ColumnElement[Any], target: Status, froms: tuple[Status, ...]) -> sa.ColumnElement[bool]:
    return status_in(column, all_passed(froms, target) or sources(target))
