"""The cursor of PostgreSQL's driver for statements that SQLAlchemy has made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from psycopg.abc import Params, Query


class OneByOne(psycopg.Cursor[Any]):
    """A cursor that waits for each answer before it sends the next statement.

    psycopg sends those of `executemany` in a pipeline, and within one no limit of idleness counts for the server: a
    process that is frozen there would keep its locks.
    """

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """Execute the statement once for each of `params_seq`; `rowcount` is that of the last."""
        for params in params_seq:
            self.execute(query, params)  # type: ignore[arg-type] # a template has its values in itself
