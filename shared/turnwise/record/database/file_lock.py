"""One embedded server per database file."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from turnwise.errors import AlreadyServedError, DatabaseUnavailableError


class EmbeddedLock:
    """An operating-system lock on `FILE.lock`, which has the holder's process number as its text.

    The lock dies with its process, so a crash leaves nothing to clean up. The file stays after a release.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(f"{path}.lock")
        # Any thread of the process may release it.
        self._lock = FileLock(self.path, timeout=0, thread_local=False)

    def acquire(self) -> None:
        """Take the lock at once.

        Raises `AlreadyServedError`, which names the process that holds it, and `DatabaseUnavailableError` where the
        file cannot be written.
        """
        try:
            self._lock.acquire()
            self.path.write_text(str(os.getpid()))
        except Timeout as error:
            holder = self.path.read_text().strip() or "unknown"
            raise AlreadyServedError(
                f"{self.path} is held by process {holder}: another embedded server uses this database; stop it, or "
                "name another file in TURNWISE_DATABASE_URL"
            ) from error
        except OSError as error:
            raise DatabaseUnavailableError(
                f"{self.path} cannot be written ({error.strerror}), which keeps a second server from the database; let "
                "this user write there, or name another file in TURNWISE_DATABASE_URL"
            ) from error

    def release(self) -> None:
        """Let go of the lock."""
        self._lock.release()

    def __enter__(self) -> EmbeddedLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
