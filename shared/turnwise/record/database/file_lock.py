"""One embedded server per database file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO

from turnwise.errors import AlreadyServedError


class EmbeddedLock:
    """An operating-system lock on `FILE.lock`; it dies with its process, so a crash leaves nothing to clean up."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(f"{path}.lock")
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock at once, or raise `AlreadyServedError` naming the process that holds it."""
        file = self.path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise AlreadyServedError(
                f"{self.path} is held by process {holder}: another embedded server uses this database; stop it, or "
                "name another file in TURNWISE_DATABASE_URL"
            ) from error
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let go of the lock; the file stays, because removing it would race with the next holder."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> EmbeddedLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
