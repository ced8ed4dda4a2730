"""Places in the inbox, where a page of it ends and the next one begins."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from turnwise.errors import InvalidRequestError
from turnwise.record.database.schema import asks


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class InboxPlace:
    """The place of an item: by its time, and of several at the same time by its id."""

    at: float
    ask_id: str

    @property
    def cursor(self) -> str:
        """The place as clients give it back."""
        return base64.urlsafe_b64encode(json.dumps([self.at, self.ask_id]).encode()).decode().rstrip("=")

    @classmethod
    def of_cursor(cls, cursor: str) -> InboxPlace:
        """The place of a cursor; `InvalidRequestError` for one that is none."""
        try:
            at, ask_id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            place = cls(at=float(at), ask_id=str(ask_id))
        except (binascii.Error, ValueError, TypeError):
            place = None
        if place is None or not math.isfinite(place.at) or "\0" in place.ask_id:
            raise InvalidRequestError(
                f"invalid cursor {cursor!r}: it was not issued by this server; leave it out to start over"
            )
        return place


def in_order(statement: sa.Select[Any], time: sa.Column[Any], after: InboxPlace | None) -> sa.Select[Any]:
    """Return the statement with its asks by their places, those behind `after` only."""
    if after is not None:
        at_once = sa.and_(time == after.at, asks.c.id > after.ask_id)
        statement = statement.where(sa.or_(time > after.at, at_once))
    return statement.order_by(time, asks.c.id)
