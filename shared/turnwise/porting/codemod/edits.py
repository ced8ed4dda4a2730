"""Edits of a text by position: everything outside of them stays byte for byte."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes from `start` up to `end` of a text in UTF-8 by `text`."""

    start: int
    end: int
    text: str


def apply(source: bytes, edits: Sequence[Edit]) -> bytes:
    """Return `source` with all edits made. They may touch, but not overlap."""
    parts, at = [], 0
    for edit in sorted(edits):
        if edit.start < at:
            raise ValueError(f"edits overlap at byte {edit.start}")
        parts += [source[at : edit.start], edit.text.encode()]
        at = edit.end
    return b"".join([*parts, source[at:]])


class SourceLines:
    """Line numbers of a text in UTF-8, counted from 1."""

    def __init__(self, source: bytes) -> None:
        self._ends = [at for at, byte in enumerate(source) if byte == 0x0A]

    def of(self, offset: int) -> int:
        """Return the line that holds the byte at `offset`."""
        return bisect_right(self._ends, offset - 1) + 1


def moved(offset: int, edits: Sequence[Edit], word: bytes = b"") -> int:
    """Return where the byte at `offset` stands once the edits are made.

    Inside of an edit, that is where the `word` is which stands at `offset`, or else where the edit begins.
    """
    shift = 0
    for edit in sorted(edits):
        if edit.end <= offset and (edit.start, edit.end) != (offset, offset):
            shift += len(edit.text.encode()) - (edit.end - edit.start)
        elif edit.start <= offset < edit.end:
            found = re.search(rb"\b%b\b" % re.escape(word), edit.text.encode()) if word else None
            return edit.start + shift + (found.start() if found else 0)
    return offset + shift
