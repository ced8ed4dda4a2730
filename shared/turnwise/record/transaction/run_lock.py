"""The lock of a run's row, under which a transaction works from its beginning, or from when it needs it."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Connection


class RunLock:
    """The connection whose transaction holds the lock; made by `take` when it is first asked for.

    `take` raises `RunChangedError` if the run is no longer what the transaction builds on, and errors of the database.
    Then each further use raises it again: the caller's code may have swallowed the first.
    """

    def __init__(self, connection: Connection | None = None, take: Callable[[], Connection] | None = None) -> None:
        self._connection = connection
        self._take = take
        self._error: Exception | None = None

    @property
    def is_held(self) -> bool:
        """Return whether the transaction has begun on the database."""
        self.check()
        return self._connection is not None

    @property
    def connection(self) -> Connection:
        """The connection, in the transaction."""
        self.check()
        if self._connection is None:
            assert self._take is not None, "a lock without a connection can take one"
            try:
                self._connection = self._take()
            except Exception as error:
                self._error = error
                raise
        return self._connection

    def check(self) -> None:
        """Raise what taking the lock has raised."""
        if self._error is not None:
            raise self._error
