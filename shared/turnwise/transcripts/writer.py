"""What can write a log down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from turnwise.transcripts.entry import Entry, RunTitle


class Form(Protocol):
    """A way to write one run's entries, as pieces of text to be put one after the other.

    What was written so far can be read at any time; a run that breaks off has no `tail`.
    """

    def head(self, title: RunTitle) -> str:
        """What comes first."""

    def part(self, entry: Entry) -> str:
        """The next entry."""

    def tail(self) -> str:
        """What comes last."""


def written(form: Form, title: RunTitle, entries: Iterable[Entry]) -> Iterator[str]:
    """A whole log, piece by piece."""
    yield form.head(title)
    for entry in entries:
        yield form.part(entry)
    yield form.tail()
