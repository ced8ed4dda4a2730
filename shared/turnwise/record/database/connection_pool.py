"""The connections to the database that a process has, as an operator wants to see them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event, exc
from sqlalchemy.engine import Connection
from sqlalchemy.pool import QueuePool

# Told of a wait for a connection: its seconds, and whether it ended with one.
OnWait = Callable[[float, bool], None]


class ConnectionPool:
    """Connects, and measures only those who find no free connection: the others pay nothing for it.

    `limit` is the most connections that there may be; `on_wait` may be set.
    """

    def __init__(self, engine: Engine, limit: int) -> None:
        self._engine = engine
        self.limit = limit
        self.on_wait: OnWait | None = None

    def connect(self, engine: Engine) -> Connection:
        """A connection of `engine`, which may have options of its own; raises what SQLAlchemy raises."""
        if self.on_wait is None or self.in_use < self.limit:
            return engine.connect()
        began = time.monotonic()
        try:
            connection = engine.connect()
        except exc.TimeoutError:
            self.on_wait(time.monotonic() - began, False)
            raise
        self.on_wait(time.monotonic() - began, True)
        return connection

    @property
    def in_use(self) -> int:
        """Connections that are at work now."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    def on_use(self, changed: Callable[[int], None]) -> None:
        """Call `changed` with 1 for each connection that begins to be used, and with -1 at its end."""

        def taken(*_: Any) -> None:
            changed(1)

        def returned(*_: Any) -> None:
            changed(-1)

        event.listen(self._engine, "checkout", taken)
        event.listen(self._engine, "checkin", returned)
