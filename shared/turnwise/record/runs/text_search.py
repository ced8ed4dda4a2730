"""The search for runs by their ids and by the text of their messages.

No turn maintains an index for it. A search reads runs as they are, the newest first, and stops after so many of them or
so much time: the cursor of its page continues from there. So a search costs a bounded amount, and yet a client that
follows the cursors has searched everything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.clock import Clock
from turnwise.record.database.columns import dump_json, parts_of
from turnwise.record.database.database import Database
from turnwise.record.database.rows import RUN, run_of
from turnwise.record.database.schema import documents, runs
from turnwise.record.values.records import RunRecord

# A text that begins as the ids of runs do is searched in these only, by an index.
_RUN_ID = re.compile(r"run_[0-9A-Za-z]*")
# After every character that an id continues with, in any collation.
_LAST = "zzzzzzzz"
# Runs that the first statement looks through; each further one takes twice as many, as long as they are quick: no one
# knows how long the messages are. And the most, and the documents of each run, in the order in which they were made.
_FIRST_PIECE = 10
_LARGEST_PIECE = 160
_DOCUMENTS = 500
# The most runs that one search looks through, and the seconds after which it begins with no further piece.
MOST_RUNS = 5_000
MOST_SECONDS = 1.0

# Parts of a document that are JSON themselves: calls of tools, and their results.
_JSON_PARTS = ("tool_messages", "oai_tool_calls", "oai_tool_id2result", "function_call")


class TextSearch:
    """Looks for a text, whatever its case, in runs that meet `conditions`."""

    def __init__(
        self, database: Database, clock: Clock, text: str, conditions: Sequence[sa.ColumnElement[bool]]
    ) -> None:
        self._database = database
        self._clock = clock
        self._text = text
        self._conditions = conditions
        # As the text is written within JSON.
        self._raw = dump_json(text)[1:-1]

    def page(self, before: str | None, limit: int) -> tuple[list[RunRecord], str | None]:
        """Return runs, newest first, and the id after which the next page begins; None at the end.

        There may be fewer than `limit`, even none, although a page follows.
        """
        with self._database.read() as connection:
            if _RUN_ID.fullmatch(self._text):
                found = self._read(connection, self._ids(before, limit + 1, self._begins_so()))
                return found[:limit], found[limit - 1].id if len(found) > limit else None
            return self._look_through(connection, before, limit)

    def _look_through(
        self, connection: Connection, before: str | None, limit: int
    ) -> tuple[list[RunRecord], str | None]:
        found: list[RunRecord] = []
        began = self._clock.monotonic()
        left, size = MOST_RUNS, _FIRST_PIECE
        while left > 0:
            piece = connection.scalars(self._ids(before, size)).all()
            if piece:
                matching = sa.select(runs.c.id).where(runs.c.id.in_(piece), self._matches())
                found += self._read(connection, matching)
            if len(found) > limit:
                return found[:limit], found[limit - 1].id
            if len(piece) < size:
                return found, None
            before = piece[-1]
            taken = self._clock.monotonic() - began
            if taken >= MOST_SECONDS:
                break
            left -= size
            size = min(2 * size if taken < MOST_SECONDS / 4 else size, left, _LARGEST_PIECE)
        return found, before

    def _read(self, connection: Connection, ids: sa.Select[str]) -> list[RunRecord]:
        statement = sa.select(*RUN).where(runs.c.id.in_(ids)).order_by(runs.c.id.desc())
        return [run_of(row) for row in connection.execute(statement)]

    def _ids(self, before: str | None, most: int, *further: sa.ColumnElement[bool]) -> sa.Select[str]:
        statement = sa.select(runs.c.id).where(*self._conditions, *further)
        if before is not None:
            statement = statement.where(runs.c.id < before)
        return statement.order_by(runs.c.id.desc()).limit(most)

    def _begins_so(self) -> sa.ColumnElement[bool]:
        text = self._text
        return sa.and_(runs.c.id >= text, runs.c.id <= text + _LAST, runs.c.id.startswith(text, autoescape=True))

    def _matches(self) -> sa.ColumnElement[bool]:
        first = (
            sa.select(documents.c.body)
            .where(documents.c.run_id == runs.c.id)
            .order_by(documents.c.no)
            .limit(_DOCUMENTS)
            .correlate(runs)
            .subquery()
        )
        return sa.or_(
            self._has(runs.c.id, self._text),
            self._has(runs.c.session_id, self._text),
            self._says(runs.c.message),
            sa.exists(sa.select(sa.literal(1)).select_from(first).where(self._says(first.c.body))),
        )

    def _says(self, document: sa.ColumnElement[sa.JSON]) -> sa.ColumnElement[bool]:
        """Return whether the text of a document, or of its tools, has the text."""
        whole = sa.cast(document, sa.Text) if self._database.is_postgres else sa.type_coerce(document, sa.Text)
        found = parts_of(document)
        parts = [self._has(found["content"].as_string(), self._text)]
        parts += [self._has(self._json_part(found, name), self._raw) for name in _JSON_PARTS]
        exact: sa.ColumnElement[bool] = sa.or_(*parts)
        if not self._database.is_postgres:
            # SQLite takes what is before a NUL out of JSON, and of half of a surrogate pair what is no text.
            odd = sa.or_(sa.func.instr(whole, "\\u0000") > 0, sa.func.instr(whole, "\\ud") > 0)
            exact = sa.case((odd, sa.true()), else_=exact)
        # The whole is looked through first: that needs no parser, and most documents do not have the text.
        return sa.and_(self._has(whole, self._raw), exact)

    def _json_part(self, document: sa.ColumnElement[sa.JSON], name: str) -> sa.ColumnElement[str]:
        if self._database.is_postgres:
            return sa.cast(document[name], sa.Text)
        return sa.func.json_extract(document, f"$.{name}")

    def _has(self, where: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        if self._database.is_postgres:
            return where.icontains(text, autoescape=True)
        return sa.func.turnwise_contains(where, text.casefold(), type_=sa.Boolean)  # see `Database`
