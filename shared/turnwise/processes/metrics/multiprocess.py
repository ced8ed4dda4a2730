"""The files in which the children of a prefork worker count, and their sum.

Every process writes files of its own into the folder of PROMETHEUS_MULTIPROC_DIR, named by its process id. They outlive
the process: a container that is restarted keeps its volumes, and gives out the same ids again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from turnwise.errors import ConfigurationError

_FILE = re.compile(r"(?:counter|histogram|summary|gauge_[a-z]+)_(?P<pid>\d+)\.db")


def counting_folder() -> Path | None:
    """The folder of PROMETHEUS_MULTIPROC_DIR; None where it is not set."""
    name = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return Path(name) if name else None


def clear_counts() -> None:
    """Make the folder, and remove the files of processes that are gone; nothing without PROMETHEUS_MULTIPROC_DIR.

    Call it before this process counts anything: a file with its own id is of an earlier process, too. Files of
    processes that live are kept, since other workers may count there. Raises `ConfigurationError` for a folder that
    cannot be written to.
    """
    folder = counting_folder()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, pid in _files(folder):
            if pid == os.getpid() or not _lives(pid):
                file.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"PROMETHEUS_MULTIPROC_DIR is {str(folder)!r}, which cannot be used: {error.strerror}; "
            "set it to a folder that this worker may write to"
        ) from error


class ChildrenCollector(MultiProcessCollector):
    """The sum over all children. A counter keeps what a dead child added; a gauge forgets a child that is gone."""

    def __init__(self, registry: CollectorRegistry, folder: Path) -> None:
        super().__init__(registry, str(folder))  # type: ignore[no-untyped-call]
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        for pid in {pid for _, pid in _files(self._folder)}:
            if not _lives(pid):
                mark_process_dead(pid, str(self._folder))  # type: ignore[no-untyped-call]
        found: Iterable[Metric] = super().collect()  # type: ignore[no-untyped-call]
        return found


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for file in sorted(folder.iterdir()):
        if match := _FILE.fullmatch(file.name):
            yield file, int(match["pid"])


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True
