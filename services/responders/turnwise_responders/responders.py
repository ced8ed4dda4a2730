"""Answers asks: one responder, one message."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from turnwise.app import App
from turnwise.base.cancellation import Cause
from turnwise.base.process_end import ends_process
from turnwise.bus.base import Bus
from turnwise.bus.envelope import Announcement, AskEnvelope
from turnwise.errors import (
    DatabaseUnavailableError,
    UnwritableError,
)
from turnwise.observability.redaction import redact_beginning
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.processes.moves import mover_of, pinned_version
from turnwise.processes.settings import ServiceSettings
from turnwise.processes.spending import spending_of
from turnwise.record.store import Store
from turnwise.record.values.kept_errors import CodedError, RaisedError
from turnwise.record.values.outcomes import Deferral, Outcome, Parking, Release, Reply
from turnwise.record.values.records import Claim
from turnwise.serving.attempts.answering import Answering
from turnwise.serving.attempts.attempt import unread
from turnwise.serving.attempts.provider_places import ServedProviders
from turnwise.serving.bus_watch import BusWatch
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.foreign_messages import ForeignMessages
from turnwise.serving.incarnation import Incarnation
from turnwise.serving.moves.moved import Moved
from turnwise.serving.moves.permits import permit
from turnwise.serving.moves.versions import taken_over
from turnwise.serving.observer import Observers
from turnwise_responders.batch_rounds import BatchRounds
from turnwise_responders.carrying import RunCarrier
from turnwise_responders.claimed_asks import ClaimedAsks
from turnwise_responders.in_flight import InFlight
from turnwise_responders.leased_record import LeasedRecord
from turnwise_responders.reply_writer import ReplyWriter, refused
from turnwise_responders.streaming import Streaming
from turnwise_responders.watched_runs import WatchedRuns

logger = logging.getLogger(__name__)


class Responders:
    """The responders of one process; `answer` may be called from many threads.

    `beat_store` is a store with connections of its own for the heartbeat (default: `store`). `drain_over` tells of the
    end of a drain that another process has begun.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        app: App,
        settings: ServiceSettings,
        observers: Observers,
        *,
        queues: Sequence[str] = ("llm", "agent"),
        beat_store: Store | None = None,
        paused: Callable[[str], bool] = lambda _queue: False,
        drain_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._record = record = store.worker
        self._app = app
        self._clock = store.clock
        self.watched = WatchedRuns(self._clock)
        self._streaming = Streaming(bus, self.watched, self._clock)
        self._in_flight = InFlight(record, bus, self._watch_announced)
        self._observers = observers
        self._version = pinned_version(settings, app)
        self._dispatcher = Dispatcher(bus, version=self._version)
        mover = mover_of(settings, app, observers) if settings.moves == "worker" else None
        self._slice_seconds = settings.slice_seconds
        self._queues = frozenset(queues)
        self._paused = paused
        self.hearing = BusWatch(self._clock, settings.deaf_seconds)
        self._foreign = ForeignMessages(self._clock)
        self._stopping = self._clock.event()
        self._draining = False
        self._drain_seconds, self._drained_by = settings.drain_seconds, 0.0
        # Once it is set, nothing waits for the database.
        self._ending = self._clock.event()
        self._drain_over = drain_over
        self._holdings = ClaimedAsks(record)
        self._writer = ReplyWriter(record, mover, observers, self._holdings, self._ends_within)
        self._incarnation = Incarnation(
            (beat_store or store).process,
            "responders",
            queues,
            app.version,
            settings.beat_seconds,
            settings.lease_seconds,
            self._holdings.clear_up,
        )
        leased = LeasedRecord(record, self._incarnation, self._writer.until_back)
        spending = spending_of(settings, ServedProviders(record, self._wake_next))
        self._answering = Answering(
            record, app, spending, leased, at_once=settings.concurrency, collects=settings.provider_batches
        )
        seen = self._answering.collected_from
        self.batches = BatchRounds(record, app, self._dispatcher, settings, self._incarnation.current, seen, observers)

    def start(self) -> None:
        """Register this process as a holder of leases; call it after a fork."""
        self._incarnation.start()
        self._in_flight.start()
        self._streaming.start()
        self.batches.start()

    def _watch_announced(self, notice: Announcement) -> None:
        self.watched.heard(notice)
        self._observers.watch_announced(notice)

    def stop_claiming(self) -> None:
        """Claim nothing more, and carry no run on: what is being answered now is the last."""
        self._draining = True
        # Counted before: the note may wait long for a database that is away.
        self._drained_by = self._clock.monotonic() + self._drain_seconds
        self._incarnation.note_draining()

    def drain(self) -> None:
        """Claim nothing more, and end what is being answered as `end_answers` does."""
        self.stop_claiming()
        self.end_answers()

    def end_answers(self) -> None:
        """Leave the answers in hand the time that they may still take, then cancel them, so that they are released.

        Those that wait for the database are tried once more, and left to be taken over if it is still away. Returns
        when that time is over, or when this process has stopped before.
        """
        if self._stopping.wait(max(0.0, self._drained_by - self._clock.monotonic())):
            return
        if in_hand := self._holdings.count():
            # Told before: the process may be gone as soon as they are given back.
            logger.warning(
                "%d answers take longer than the %g s that this process may take to end (TURNWISE_DRAIN_SECONDS); they "
                "are given back, or taken over if the database is away",
                in_hand,
                self._drain_seconds,
                extra={"action": "drain_cut", "asks": in_hand},
            )
        self._ending.set()
        self._in_flight.cut()

    def stop(self) -> None:
        """Sign off. Answers that are being worked on should have ended before."""
        self._stopping.set()
        self._ending.set()
        self.batches.stop()
        self._in_flight.stop()
        self._streaming.stop()
        self._incarnation.stop()

    @property
    def healthy(self) -> bool:
        """Return whether this process holds a lease, so that it may claim."""
        return self._incarnation.current() is not None

    def answer(self, permit: AskEnvelope) -> bool:
        """Claim an ask of the permit's queue, usually the one it names, and answer it. Return whether there was one."""
        if permit.queue not in self._queues:
            # Work may be kept apart by queues, so no one outside decides which of them this process serves.
            logger.warning(
                "A permit for the queue %r came in, which is not served here",
                permit.queue,
                extra={"action": "permit_refused", "queue": permit.queue},
            )
            return False
        self.hearing.heard()
        if self.serve(permit.queue):
            return True
        self._foreign.look(permit.run, self._record.has_run)
        return False

    def note_deaf(self, deaf: bool) -> None:
        """Keep on record whether this process hears its broker."""
        self._incarnation.note_deaf(deaf)

    def busy(self) -> int:
        """Return how many asks it is at, or about to claim."""
        return self._holdings.count()

    def serve(self, queue: str) -> bool:
        """Claim an ask of the queue and answer it and those of its run that follow. Return whether one was claimed."""
        worker = self._incarnation.current()
        if worker is None or not self._takes(queue):
            return False
        with self._holdings.claim(queue, worker, self._version) as claim:
            if claim is None:
                return False
            carrier = RunCarrier(self._record, worker, self._queues, self._takes, self._slice_seconds)
            following = self._claimed(claim, carrier)
        while following is not None:
            with self._holdings.carry(following):
                following = self._claimed(following, carrier)
        return True

    def _ends_within(self, seconds: float) -> bool:
        """Wait so long, or until what is in hand may wait no longer for the database; return whether that is so."""
        return self._ending.wait(seconds) or self._drain_over()

    def _takes(self, queue: str) -> bool:
        """Return whether this process takes asks of the queue now."""
        return queue in self._queues and not self._draining and not self._paused(queue) and self.healthy

    def _claimed(self, claim: Claim, carrier: RunCarrier) -> Claim | None:
        """Answer what was claimed; return the run's next ask, if the carrier took it."""
        self._observers.ask_claimed(claim)
        with self._observers.around_attempt(claim):
            try:
                return self._answer(claim, carrier)
            except BaseException as error:
                if not ends_process(error):
                    self._abandon(claim, error)
                raise

    def _abandon(self, claim: Claim, error: BaseException) -> None:
        """End the run of an ask after an error that nothing has caught.

        This process is alive, so no sweep would take the ask over. Given back, it would meet the error again. If the
        end cannot be written either, `ClaimedAsks` sees to it as if this process had been lost.
        """
        message = redact_beginning(f"the ask cannot be answered: {error}")
        kept = RaisedError(type=type(error).__name__, message=message, place=claim.ask.path)
        try:
            if self._writer.until_back(claim, lambda: self._record.reply(claim, Reply(kind="error", error=kept))):
                self._dispatcher.wake(claim.run)
        finally:
            self._holdings.doubt(claim)

    def _answer(self, claim: Claim, carrier: RunCarrier) -> Claim | None:
        """Answer what was claimed, or defer it, or release it."""
        started = self._clock.monotonic()
        try:
            with self._in_flight.work(claim) as cancellation, self._streaming.answer(claim) as text:
                outcome = self._answering.answer(claim, text, cancellation, text_wanted=text.asked_for)
        except DatabaseUnavailableError as error:
            left = unread(claim, error)
            self._writer.until_back(claim, lambda: self._record.release(claim, left.reason, pause=left.pause))
            return None
        if outcome is None:  # this process has to end without a word
            return None
        self._observers.attempt_ended(claim, outcome)
        try:
            return self._hand_in(claim, outcome, carrier, started)
        except UnwritableError as error:  # of a deferral, a release or a parking; replies have it in the writer
            return self._keep(claim, refused(claim, outcome, error), carrier, started)

    def _hand_in(self, claim: Claim, outcome: Outcome, carrier: RunCarrier, started: float) -> Claim | None:
        """Write what became of the ask, whatever that is; return the run's next ask, if the carrier took it."""
        if isinstance(outcome, Deferral):
            deferral = outcome
            if self._writer.until_back(claim, lambda: self._record.defer(claim, deferral)) is not None:
                self._observers.ask_deferred(claim, deferral, self._clock.monotonic() - started)
        elif isinstance(outcome, Release):
            held = self._drop(claim, outcome)
            self._observers.ask_released(claim, outcome, self._clock.monotonic() - started, late=held is False)
        elif isinstance(outcome, Parking):
            parking = outcome
            if self._writer.until_back(claim, lambda: self._record.park(claim, parking)):
                self._observers.ask_parked(claim, parking)
        else:
            traceparent = current_traceparent()
            reply = outcome if traceparent is None else replace(outcome, traceparent=traceparent)
            return self._keep(claim, reply, carrier, started)
        return None

    def _keep(self, claim: Claim, reply: Reply, carrier: RunCarrier, started: float) -> Claim | None:
        """Write the reply, and tell what follows from it; `started` is when the responder was called."""
        answered = self._clock.monotonic()
        if (version := taken_over(claim.run, self._app)) is not None:
            reply = replace(reply, version=version)
        moves: list[Moved] = []
        kept = self._writer.write(claim, reply, carrier, moves)
        if kept is None:
            return None
        reply = kept.reply
        worked, written = answered - started, self._clock.monotonic() - answered
        if not kept.accepted:
            self._observers.reply_discarded(claim, reply, worked, written)
            return None
        self._answering.accepted(claim, reply)
        self._observers.reply_stored(claim, reply, worked, written, moved=bool(moves))
        for moved in moves:
            self._dispatcher.moved(moved)
            self._observers.moved(moved)
        if not moves:
            self._dispatcher.wake(claim.run)
        return moves[0].claim if moves else None

    def _drop(self, claim: Claim, release: Release) -> bool | None:
        """Release what was cancelled, and let a coordinator see why; if it is no longer ours, keep the books.

        Whether it was ours; None if this process had to stop before it knew.
        """
        given, doubt = (release.reason, release.usage, release.calls), release.in_doubt
        held = self._writer.until_back(
            claim,
            lambda: self._record.release(claim, *given, work=release.work, in_doubt=doubt, pause=release.pause),
        )
        if held:
            self._dispatcher.wake(claim.run)
            if release.reason == Cause.DRAINED.value:  # others are there for it
                self._dispatcher.publish(permit(claim.ask))
        elif held is False:
            error = CodedError(code="cancelled", message=f"cancelled: {release.reason}", place=claim.ask.path)
            late = Reply(kind="error", error=error, usage=release.usage, calls=release.calls)
            self._writer.until_back(claim, lambda: self._record.reply(claim, late))
        return held

    def _wake_next(self, claim: Claim, bucket: str) -> None:
        """A call gave room back to its provider: a permit for the next in line, which a sweep would give later."""
        try:
            for ask in self._record.next_in_line(claim.ask.queue or "", 1, bucket, self._version):
                self._dispatcher.publish(permit(ask))
        except DatabaseUnavailableError as error:
            logger.debug(
                "The asks that wait for a provider were not looked up: %s", error, extra={"action": "line_not_seen"}
            )
