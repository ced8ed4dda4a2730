"""Makes entries: numbers the messages, links answers to what they answer, counts each call of a model once."""

from __future__ import annotations

from datetime import datetime

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.transcripts.entry import Entry, MessageKind
from turnwise.transcripts.message_text import said


class Recorder:
    """The entries of one run, in order; both kinds of runs are told here."""

    def __init__(self) -> None:
        self._last = 0
        self._numbers: dict[str, int] = {}

    def started(self, path: str, at: datetime) -> Entry:
        """A task was called."""
        return Entry(kind="started", at=at, path=path)

    def continued(self, path: str, at: datetime) -> Entry:
        """A task is open again after a retry."""
        return Entry(kind="continued", at=at, path=path)

    def message(
        self, kind: MessageKind, path: str, turn: int, responder: str, document: ChatDocument, at: datetime
    ) -> Entry:
        """Someone said something in a turn."""
        metadata = document.metadata
        # An answer that was refused first and taken for want of another comes twice, its call was made once.
        new = metadata.id not in self._numbers
        self._last += 1
        parent = self._numbers.get(metadata.parent_id)
        self._numbers[metadata.id] = self._last
        return Entry(
            kind=kind,
            at=at,
            path=path,
            turn=turn,
            responder=responder,
            said=said(document),
            number=self._last,
            parent=parent,
            usage=metadata.usage if new and kind != "given" and responder == Entity.LLM.value else None,
        )

    def silent(self, path: str, turn: int, at: datetime) -> Entry:
        """No one answered in a turn."""
        return Entry(kind="none", at=at, path=path, turn=turn)

    def finished(self, path: str, turn: int, status: str, at: datetime) -> Entry:
        """A call of a task ended."""
        return Entry(kind="finished", at=at, path=path, turn=turn, status=status)

    def ended(self, path: str, status: str, error: tuple[str, str] | None, at: datetime) -> Entry:
        """The run ended, with an error or without."""
        return Entry(kind="ended", at=at, path=path, status=status, error=error)
