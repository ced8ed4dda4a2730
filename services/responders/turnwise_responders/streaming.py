"""Passes the text of answers on while they are written, to those who watch, in few messages."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Self

from turnwise.base.clock import Clock, Thread
from turnwise.bus.base import Bus
from turnwise.bus.envelope import TextNotice, TokenNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.record.values.records import Claim
from turnwise_responders.watched_runs import WatchedRuns

logger = logging.getLogger(__name__)

# Seconds that text is gathered for, and the characters of one answer that are not kept back any longer.
_GATHER = 0.05
_FULL = 1_024
# Seconds between two rounds at least, so that very fast models do not multiply the messages.
_PAUSE = 0.01
# The most of one message: the ids of a piece take some 200 bytes, a character in JSON up to six. Both together stay
# below the size from which a message is refused.
_PIECES = 500
_CHARACTERS = 16_384
# Seconds without a try after the broker was found away, and for which an answer waits to send its last piece.
_AWAY = 2.0
_PATIENCE = 1.0


class AnswerText:
    """The text of one answer; call it with each piece as it is written."""

    def __init__(self, streaming: Streaming, run: str, ask: str, attempt: int) -> None:
        self.run = run
        self._streaming = streaming
        self._ask = ask
        self._attempt = attempt
        self._written = 0
        self._pending: list[str] = []
        self.streamed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._streaming.ended(self)

    def __call__(self, piece: str) -> None:
        self._streaming.written(self, piece)

    @property
    def asked_for(self) -> bool:
        """Return whether someone asked for this text, also of a model whose settings leave open whether it streams."""
        return self._streaming.asked_for(self.run)

    def add(self, piece: str) -> None:
        """Keep the piece until it is sent."""
        self._written += len(piece)
        self._pending.append(piece)
        self.streamed = True

    def skip(self, piece: str) -> None:
        """Count a piece that is not sent; nothing may be pending."""
        self._written += len(piece)

    def take(self) -> list[TokenNotice]:
        """Everything pending, in pieces that a message has room for."""
        text, self._pending = "".join(self._pending), []
        # A model may write half of a surrogate pair, which no JSON can carry.
        text = text.encode(errors="replace").decode()
        begin = self._written - len(text)
        return [
            TokenNotice(
                run=self.run,
                ask=self._ask,
                attempt=self._attempt,
                offset=begin + at,
                text=text[at : at + _CHARACTERS],
            )
            for at in range(0, len(text), _CHARACTERS)
        ]


class Streaming:
    """The texts of one process. Whatever many answers are written, one thread sends them together, every 50 ms.

    Text is lost if the broker is away. The event that follows has all of it.
    """

    def __init__(self, bus: Bus, watched: WatchedRuns, clock: Clock) -> None:
        self._bus = bus
        self._watched = watched
        self._clock = clock
        self._lock = threading.Lock()
        # Characters that are pending, by answer.
        self._pending: dict[AnswerText, int] = {}
        # Held while pieces are taken and sent, so that the pieces of an answer keep their order.
        self._sending = threading.Lock()
        self._away_until = 0.0
        self._some, self._full, self._stopping = clock.event(), clock.event(), clock.event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to send, on a thread of its own."""
        self._thread = self._clock.start("turnwise-streaming", self._work)

    def stop(self) -> None:
        """End; text that is still pending goes with the end of its answer."""
        self._stopping.set()
        self._some.set()
        if self._thread is not None:
            self._thread.join()

    def answer(self, claim: Claim) -> AnswerText:
        """The text of the claim's answer; what is pending when the block ends is sent at once."""
        # Above that of every earlier try, whether its worker was lost or it was deferred.
        attempt = max(1, claim.ask.attempts) + claim.ask.deferrals
        return AnswerText(self, claim.run.id, claim.ask.id, attempt)

    def ended(self, text: AnswerText) -> None:
        """Send what is pending of an answer that is complete."""
        if text.streamed:
            self._send_safely(text)

    def wanted(self, run: str) -> bool:
        """Return whether someone watches the run now."""
        return bool(self._watched.listeners(run))

    def asked_for(self, run: str) -> bool:
        """Return whether someone who watches the run asked for the text of every model."""
        return self._watched.text_wanted(run)

    def written(self, text: AnswerText, piece: str) -> None:
        """Keep the next piece of an answer if its run is watched."""
        if not self.wanted(text.run):
            self._drop(text)
            text.skip(piece)
            return
        with self._lock:
            text.add(piece)
            before = self._pending.get(text, 0)
            self._pending[text] = before + len(piece)
        if before + len(piece) >= _FULL:
            self._full.set()
        if before == 0:
            self._some.set()

    def _drop(self, text: AnswerText) -> None:
        """Forget pending text that is no longer watched: what is pending has to end where the text ends."""
        if text in self._pending:
            with self._lock:
                self._pending.pop(text, None)
                text.take()

    def _work(self) -> None:
        # The end is looked for between clearing and waiting, or the flag that tells of it might be cleared unseen.
        while not self._stopping.is_set():
            self._some.wait()
            self._full.wait(_GATHER)
            # Before the texts are taken: a piece that comes after that raises them again.
            self._some.clear()
            self._full.clear()
            self._send_safely()
            self._stopping.wait(_PAUSE)

    def _send_safely(self, one: AnswerText | None = None) -> None:
        # The thread has to live as long as the process, and an answer is worth more than the streaming of its text.
        try:
            self._send(one)
        except Exception:
            logger.exception("Text could not be streamed", extra={"action": "streaming_failed"})

    def _send(self, one: AnswerText | None = None) -> None:
        """Send what is pending, of all answers or of `one`; a broker that holds up others does not hold up this one."""
        if not self._sending.acquire(timeout=_PATIENCE):
            if one is not None:
                self._drop(one)  # later it would come after its event, which has all of it
            return
        try:
            self._tell(self._taken(one))
        finally:
            self._sending.release()

    def _taken(self, one: AnswerText | None) -> list[TokenNotice]:
        with self._lock:
            texts = list(self._pending) if one is None else [one]
            for text in texts:
                self._pending.pop(text, None)
            return [piece for text in texts for piece in text.take()]

    def _tell(self, pieces: list[TokenNotice]) -> None:
        if self._clock.monotonic() < self._away_until:
            return
        wanted: dict[str, list[TokenNotice]] = defaultdict(list)
        for piece in pieces:
            for listener in self._watched.listeners(piece.run):
                wanted[listener].append(piece)
        try:
            for listener, theirs in wanted.items():
                for message in _messages(theirs):
                    self._bus.tell(listener, TextNotice(pieces=message))
        except BrokerUnavailableError as error:
            self._away_until = self._clock.monotonic() + _AWAY
            logger.debug("Text is not streamed: %s", error, extra={"action": "text_not_told"})


def _messages(pieces: list[TokenNotice]) -> Iterator[list[TokenNotice]]:
    """The pieces, in order, in as many messages as they need."""
    message: list[TokenNotice] = []
    size = 0
    for piece in pieces:
        if message and (len(message) == _PIECES or size + len(piece.text) > _CHARACTERS):
            yield message
            message, size = [], 0
        message.append(piece)
        size += len(piece.text)
    if message:
        yield message
