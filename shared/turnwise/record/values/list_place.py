"""Places in lists by time, where a page ends and the next one begins."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from turnwise.errors import InvalidRequestError


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class ListPlace:
    """The place of an item: by its time, and of several at the same time by its id."""

    at: float
    id: str

    @property
    def cursor(self) -> str:
        """The place as clients give it back."""
        return base64.urlsafe_b64encode(json.dumps([self.at, self.id]).encode()).decode().rstrip("=")

    @classmethod
    def of_cursor(cls, cursor: str) -> ListPlace:
        """The place of a cursor; `InvalidRequestError` for one that is none."""
        try:
            at, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            place = cls(at=float(at), id=str(id))
        except (binascii.Error, ValueError, TypeError):
            place = None
        if place is None or not math.isfinite(place.at) or "\0" in place.id:
            raise InvalidRequestError(
                f"invalid cursor {cursor!r}: it was not issued by this server; leave it out to start over"
            )
        return place


def oldest_first(
    statement: sa.Select[Any], time: sa.Column[Any], id: sa.Column[Any], after: ListPlace | None
) -> sa.Select[Any]:
    """Return the statement with its items by their places, those behind `after` only."""
    if after is not None:
        at_once = sa.and_(time == after.at, id > after.id)
        statement = statement.where(sa.or_(time > after.at, at_once))
    return statement.order_by(time, id)


def newest_first(
    statement: sa.Select[Any], time: sa.Column[Any], id: sa.Column[Any], after: ListPlace | None
) -> sa.Select[Any]:
    """Return the statement with its items by their places, the last place first; those behind `after` only."""
    if after is not None:
        statement = statement.where(sa.tuple_(time, id) < sa.tuple_(sa.literal(after.at), sa.literal(after.id)))
    return statement.order_by(time.desc(), id.desc())
