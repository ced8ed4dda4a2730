"""Names of log files: the newest run has the plain name, what was there before is kept beside it."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from turnwise.errors import ConfigurationError

_UNSAFE = re.compile(r"[^\w .@+-]")
# In characters: below the 255 bytes of a file's name, whatever script they are of.
_LONGEST = 60


class LogFiles:
    """The files of one run of `task` in `folder`: `<task>.<ending>`.

    Files of that name, left by an earlier run or still written by another, are renamed first: to `<task>.1.<ending>`,
    the next to `<task>.2.<ending>`, and so on. A run that is still under way keeps its files under their new names, so
    runs neither mix nor overwrite each other, also from several threads or processes.
    """

    def __init__(self, folder: Path, task: str) -> None:
        self._folder = folder
        self._stem = _UNSAFE.sub("_", task)[:_LONGEST].lstrip(".") or "run"

    def make(self, endings: Iterable[str]) -> dict[str, IO[str]]:
        """New, empty files, open for writing, by ending; raises `ConfigurationError` if that cannot be."""
        wanted = list(endings)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                self._move_aside(wanted)
                return {ending: self._named(ending).open("x", encoding="utf-8", newline="\n") for ending in wanted}
        except OSError as error:
            raise ConfigurationError(
                f"no log can be written to logs_dir {str(self._folder)!r} ({error}); name a folder that this process "
                "may write to, or set enable_loggers=False"
            ) from error

    def _named(self, ending: str) -> Path:
        return self._folder / f"{self._stem}.{ending}"

    def _move_aside(self, endings: list[str]) -> None:
        old = [ending for ending in endings if self._named(ending).exists()]
        if old:
            number = self._last_number() + 1
            for ending in old:
                self._named(ending).rename(self._folder / f"{self._stem}.{number}.{ending}")

    def _last_number(self) -> int:
        numbered = re.compile(re.escape(self._stem) + r"\.(\d+)\.\w+")
        matches = (numbered.fullmatch(file.name) for file in self._folder.iterdir())
        return max((int(match[1]) for match in matches if match), default=0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among the threads and processes that make files in this folder."""
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
