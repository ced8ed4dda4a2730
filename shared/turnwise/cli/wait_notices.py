"""Saying why a run that is watched keeps silent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from turnwise.errors import TurnwiseError

if TYPE_CHECKING:
    from turnwise.client import Client

T = TypeVar("T")

# Seconds without an event.
_SILENCE = 3.0


class WaitNotices:
    """Calls `say` with the sentence why the run waits whenever no event came for `seconds`, each sentence once."""

    def __init__(self, client: Client, run_id: str, say: Callable[[str], None], seconds: float = _SILENCE) -> None:
        self._client = client
        self._run_id = run_id
        self._say = say
        self._seconds = seconds
        self._heard = threading.Event()
        self._over = False

    def between(self, events: Iterable[T]) -> Iterator[T]:
        """The events, unchanged."""
        thread = threading.Thread(target=self._listen, name="turnwise-silence", daemon=True)
        thread.start()
        try:
            for event in events:
                self._heard.set()
                yield event
        finally:
            self._over = True
            self._heard.set()
            thread.join()

    def _listen(self) -> None:
        said = ""
        while not self._over:
            if self._heard.wait(self._seconds):
                self._heard.clear()
            elif not self._over and (sentence := self._why()) not in ("", said):
                said = sentence
                self._say(sentence)

    def _why(self) -> str:
        try:
            waiting_for = self._client.run(self._run_id).waiting_for
        except TurnwiseError:
            return ""  # the events tell of a gateway that is away
        return str(waiting_for["sentence"]) if waiting_for else ""
