"""The place of an answer's pieces among the events of its run."""

from __future__ import annotations

from collections.abc import Iterable

from turnwise.bus.envelope import TokenNotice

# The event that an answer is complete, and the one after which an ask that was answered may be answered again.
_REPLIED, _RETRIED = "turn.replied", "run.retried"


class AnswerPieces:
    """Pieces that were told to one stream of events: each goes before the reply that it is a part of, or nowhere.

    Notices and the record are two ways to the stream, so pieces may come before the event of their ask and after that
    of its reply. A reader would take a piece behind the reply for the beginning of another answer.
    """

    def __init__(self) -> None:
        self._told: list[TokenNotice] = []
        self._late: list[TokenNotice] = []
        self._replied: set[str] = set()

    def told(self, pieces: Iterable[TokenNotice]) -> None:
        """Take in what was told before a look into the record, which finds the events of their asks."""
        self._told = [piece for piece in (*self._told, *self._late, *pieces) if piece.ask not in self._replied]
        self._late = []

    def told_late(self, pieces: Iterable[TokenNotice]) -> None:
        """Take in what was told during the look: it may belong to a reply that was found, or to an ask that was not."""
        self._late = list(pieces)

    def before(self, kind: str, ask: str | None) -> list[TokenNotice]:
        """The pieces to send before an event of that kind."""
        if kind == _RETRIED:
            self._replied.clear()
        if kind != _REPLIED or ask is None:
            return []
        self._replied.add(ask)
        heard = (*self._told, *self._late)
        self._told, self._late = [[one for one in some if one.ask != ask] for some in (self._told, self._late)]
        return [piece for piece in heard if piece.ask == ask]

    def rest(self) -> list[TokenNotice]:
        """The pieces of an answer in progress, to send after all events that were found."""
        told, self._told = self._told, []
        return told
