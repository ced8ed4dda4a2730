"""A log while its run continues: the writers, and the sink that they write to."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from turnwise.agents.human.answer_display import AnswerWatcher
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.file_names import LogFiles


class TranscriptForm(Protocol):
    """A way to write one run's entries, as pieces of text to be put one after the other.

    What was written so far can be read at any time; a run that breaks off has no `tail`.
    """

    def head(self, title: RunTitle) -> str:
        """Return what comes first."""

    def part(self, entry: Entry) -> str:
        """The next entry."""

    def tail(self) -> str:
        """Return what comes last."""


def written(form: TranscriptForm, title: RunTitle, entries: Iterable[Entry]) -> Iterator[str]:
    """A whole log, piece by piece."""
    yield form.head(title)
    for entry in entries:
        yield form.part(entry)
    yield form.tail()


logger = logging.getLogger(__name__)


class Sink(Protocol):
    """Takes the entries of one run."""

    def open(self, title: RunTitle) -> None:
        """Begin."""

    def add(self, entry: Entry) -> None:
        """Take the next entry."""

    def live(self, path: str) -> AnswerWatcher | None:
        """Return what takes the answer of the model of the task `path` while it is written, if anything does."""

    def close(self) -> None:
        """End."""


class FolderSink:
    """Files in a folder, one for each form by its ending; see `LogFiles` for their names.

    Raises `ConfigurationError` if they cannot be made. A later failure, such as a full disk, is told once to `logging`
    and ends that file: a run that has cost money is not given up for its log.
    """

    def __init__(self, folder: Path, forms: dict[str, TranscriptForm]) -> None:
        self._folder = folder
        self._forms = forms
        self._files: dict[str, IO[str]] = {}

    def open(self, title: RunTitle) -> None:
        """Make the files."""
        self._files = LogFiles(self._folder, title.task).make(self._forms)
        self._write({ending: form.head(title) for ending, form in self._forms.items()})

    def live(self, path: str) -> None:
        """Take nothing: files have whole messages."""

    def add(self, entry: Entry) -> None:
        """Write the entry, so that it outlives a crash of this process."""
        self._write({ending: self._forms[ending].part(entry) for ending in self._files})

    def close(self) -> None:
        """Finish the files."""
        self._write({ending: self._forms[ending].tail() for ending in self._files})
        for file in self._files.values():
            file.close()
        self._files = {}

    def _write(self, pieces: dict[str, str]) -> None:
        for ending, piece in pieces.items():
            file = self._files[ending]
            try:
                file.write(piece)
                file.flush()
            except OSError as error:
                self._give_up(ending, error)

    def _give_up(self, ending: str, error: OSError) -> None:
        file = self._files.pop(ending)
        logger.warning(
            "The run continues without %s, which cannot be written: %s",
            file.name,
            error,
            extra={"action": "run_log_failed", "file": file.name},
        )
        # Closing tries to write what is left, and fails as before; that was told.
        with suppress(OSError):
            file.close()
