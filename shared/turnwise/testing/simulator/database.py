"""The real SQLite store, with something that may go wrong around every transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from turnwise.record.database.database import Database
from turnwise.testing.simulator.world import World, caller

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


class SimulatedDatabase(Database):
    """The connections of `shared`, used by one process of a world.

    Actors never give the baton away within a transaction, so that one connection is enough for all of them.
    """

    def __init__(self, shared: Database, world: World) -> None:
        vars(self).update(vars(shared))
        self._world = world

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """As in `Database`; may be refused, undone, or done without an answer."""
        what = caller()
        self._world.begin(what)
        with super().begin() as connection:
            self._world.in_transaction = True
            try:
                yield connection
            finally:
                self._world.in_transaction = False
            self._world.before_commit(what)
        self._world.after_commit(what)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """As in `Database`; may be refused."""
        self._world.begin(caller())
        with super().read() as connection:
            yield connection
