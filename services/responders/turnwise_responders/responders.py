"""Answers asks: one responder, one message."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.bus.envelope import AskEnvelope, TokenNotice
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError, EnvironmentFault
from turnwise.metrics import Metrics
from turnwise.runs.records import Claim, Reply
from turnwise.runs.store import Store
from turnwise.runs.transaction import RunTransaction
from turnwise.service_settings import ServiceSettings
from turnwise.serving.answering import Answering
from turnwise.serving.move import Moved, Mover
from turnwise.serving.observing import tell_callbacks
from turnwise.serving.reporting import Reporter
from turnwise_responders.incarnation import Incarnation

logger = logging.getLogger(__name__)

# Seconds between two tries to write while the database is away.
_FIRST_PAUSE = 0.2
_LAST_PAUSE = 2.0


class Responders:
    """The responders of one process; `answer` may be called from many threads.

    `beat_store` is a store with connections of its own for the heartbeat (default: `store`).
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        app: App,
        settings: ServiceSettings,
        metrics: Metrics,
        *,
        queues: Sequence[str] = ("llm", "agent"),
        beat_store: Store | None = None,
    ) -> None:
        self._store = store
        self._app = app
        self._bus = bus
        self._answering = Answering(store, app)
        self._reporter = Reporter(bus, metrics)
        self._mover = (
            Mover(
                app=app,
                llm_queues=settings.llm_queues,
                agent_queues=settings.agent_queues,
                max_attempts=settings.max_attempts,
            )
            if settings.move_with_reply
            else None
        )
        self._queues = frozenset(queues)
        self._stopping = threading.Event()
        self._incarnation = Incarnation(
            beat_store or store, "responders", queues, app.version, settings.beat_seconds, settings.lease_seconds
        )

    def start(self) -> None:
        """Register this process as a holder of leases; call it after a fork."""
        self._incarnation.start()

    def stop(self) -> None:
        """Sign off. Answers that are being worked on should have ended before."""
        self._stopping.set()
        self._incarnation.stop()

    @property
    def healthy(self) -> bool:
        """Whether this process holds a lease, so that it may claim."""
        return self._incarnation.current() is not None

    def answer(self, permit: AskEnvelope) -> bool:
        """Claim one ask of the permit's queue, usually the one it names, and answer it; whether one was claimed."""
        if permit.queue not in self._queues:
            # Work may be kept apart by queues, so nobody outside decides which of them this process serves.
            logger.warning(
                "A permit for the queue %r came in, which is not served here", permit.queue, extra={"action": "refuse"}
            )
            return False
        worker = self._incarnation.current()
        claim = self._store.claim(permit.queue, worker) if worker is not None else None
        if claim is None:
            return False
        started = time.monotonic()
        try:
            reply = self._answering.answer(claim, self._token_sink(claim))
        except DatabaseUnavailableError as error:
            logger.warning(
                "Could not read for %s, it is given back: %s", claim.ask.id, error, extra={"action": "release"}
            )
            self._until_back(claim, lambda: self._store.release(claim, "database_away"))
            return True
        answered = time.monotonic()
        moves: list[Moved] = []
        accepted = self._write(claim, reply, moves)
        if accepted is None:
            return True
        if accepted:
            self._answering.accepted(claim, reply)
        self._reporter.replied(claim, reply, accepted, started, answered)
        for moved in moves:
            self._reporter.moved(moved)
            tell_callbacks(self._app, moved)
        if accepted and not moves:
            self._reporter.wake(claim.run.id)
        return True

    def _write(self, claim: Claim, reply: Reply, moves: list[Moved]) -> bool | None:
        """Write the reply, and whether it was accepted; None if this process had to stop before it could.

        The lease is renewed as long as this process lives, so nobody else would write it. A reply that no database
        takes becomes an error on record.
        """

        def write(what: Reply) -> bool:
            moves.clear()
            return self._store.reply(claim, what, self._then(moves))

        try:
            return self._until_back(claim, lambda: write(reply))
        except EnvironmentFault:
            raise
        except Exception as error:
            logger.exception("The reply to %s can not be kept", claim.ask.id, extra={"action": "reply_refused"})
            kept = {"type": type(error).__name__, "message": "the reply can not be kept", "place": claim.ask.path}
            return self._until_back(claim, lambda: write(Reply(kind="error", error=kept, usage=reply.usage)))

    def _until_back(self, claim: Claim, write: Callable[[], bool]) -> bool | None:
        """Do it again until the database answers; None if this process is told to stop meanwhile."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return write()
            except DatabaseUnavailableError as error:
                logger.warning(
                    "Could not write for %s, next try in %.1f s: %s",
                    claim.ask.id,
                    pause,
                    error,
                    extra={"action": "write_failed"},
                )
                if self._stopping.wait(pause):
                    return None
                pause = min(2 * pause, _LAST_PAUSE)

    def _then(self, moves: list[Moved]) -> Callable[[RunTransaction], None] | None:
        """The next move in the reply's own transaction, where the settings say so."""
        mover = self._mover
        if mover is None:
            return None

        def move(tx: RunTransaction) -> None:
            moves.append(mover.move(tx))

        return move

    def _token_sink(self, claim: Claim) -> Callable[[str], None]:
        """Passes pieces of a model's text on to whoever watches; a piece that is lost is lost."""
        sent = 0

        def send(text: str) -> None:
            nonlocal sent
            notice = TokenNotice(
                run=claim.run.id, ask=claim.ask.id, attempt=max(1, claim.ask.attempts), offset=sent, text=text
            )
            sent += len(text)
            try:
                self._bus.notify(notice)
            except BrokerUnavailableError as error:
                logger.debug("A piece of text was not told: %s", error)

        return send
