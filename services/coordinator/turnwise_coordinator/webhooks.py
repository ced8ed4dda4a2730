"""Sends webhooks: takes what is due of the outbox, and notes what became of it."""

from __future__ import annotations

import logging
import threading

from turnwise.base.clock import Thread
from turnwise.base.ids import new_id
from turnwise.errors import EnvironmentFault
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.webhooks.records import Attempted, DueDelivery, Parcel, WebhookOutcome
from turnwise.record.webhooks.shares import Shares
from turnwise.serving.observer import Observer
from turnwise.serving.webhooks.backoff import next_wait
from turnwise.serving.webhooks.message import body_of
from turnwise.serving.webhooks.sending import WebhookSender
from turnwise.serving.webhooks.signature import signed_headers

logger = logging.getLogger(__name__)

# Requests to one host at a time: a receiver that is slow does not hold up those of others.
_OF_HOST = 4
# The name of the lease of whoever deletes what is kept no longer, beside those of the queues.
_LEASE = "webhooks"
_FORGOTTEN = 500
# Seconds until the next look for something to delete.
_REST = 60.0


class Courier:
    """Sends webhooks on threads of its own, as many at a time as the settings say.

    A delivery that it takes is leased in the database, so any number of coordinators share the work. One that dies
    after a request and before the note is followed by another, which sends the same again under the same id.
    """

    def __init__(
        self, record: CoordinatorRole, settings: ServiceSettings, observers: Observer, send: WebhookSender
    ) -> None:
        self._record = record
        self._observers = observers
        self._send = send
        self._most = settings.webhook_concurrency
        self._lease = settings.webhook_timeout + settings.lease_seconds
        self._give_up_after = settings.webhook_retry_seconds
        self._retention = settings.webhook_retention
        self._clock = record.clock
        self._holder = new_id("whk")
        self._next_look = self._clock.monotonic()
        self._stopping = self._clock.event()
        # Guards the counts below, which the threads change.
        self._lock = threading.Lock()
        self._shares = Shares(of_host=_OF_HOST, of_tenant=max(self._most // 2, 1))
        self._threads: list[Thread] = []

    def sweep(self) -> None:
        """Begin to send what is due; returns without waiting. Raises `DatabaseUnavailableError`."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for due in self._take(self._most - len(self._threads)):
            self._threads.append(self._clock.start("turnwise-webhook", lambda due=due: self._work(due)))  # type: ignore[misc]
        self._forget()

    def stop(self) -> None:
        """Take nothing more; returns when the requests under way are over."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _take(self, limit: int) -> list[DueDelivery]:
        if limit <= 0 or self._stopping.is_set():
            return []
        with self._lock:
            shares = self._shares.copy()
        found = self._record.take_deliveries(limit, self._lease, shares)
        with self._lock:
            for due in found:
                self._shares.begin(due.host, due.tenant)
        return found

    def _work(self, due: DueDelivery) -> None:
        """Send one, and after it what else is due."""
        while True:
            try:
                self._deliver(due)
            except EnvironmentFault as error:
                logger.warning("A webhook is left: %s", error, extra={"action": "webhook_left"})
                return
            except Exception as error:
                extra = {"action": "webhook_crashed", "webhook": due.webhook_id, "delivery": due.id}
                logger.exception("Webhook %s could not be sent", due.id, extra=extra)
                if not self._note_crash(due, error):
                    return
            finally:
                self._free(due)
            try:
                following = self._take(1)
            except Exception:  # noqa: BLE001 - the sweep meets it as well, and tells
                return
            if not following:
                return
            (due,) = following

    def _free(self, due: DueDelivery) -> None:
        with self._lock:
            self._shares.end(due.host, due.tenant)

    def _deliver(self, due: DueDelivery) -> None:
        parcel = self._record.parcel(due)
        if parcel is None:  # another has taken it, or its receiver was taken away
            return
        body = parcel.delivery.body
        if body is None:
            body = self._record.keep_body(due, body_of(parcel))
        self._note(due, self._send(parcel.url, signed_headers(due.id, body, parcel.secrets, parcel.now), body), parcel)

    def _note(self, due: DueDelivery, found: Attempted, parcel: Parcel | None) -> None:
        wait = None
        if not found.delivered and not found.gone:
            wait = next_wait(due.id, due.attempt, due.tried_for, self._give_up_after, found.retry_after)
        if self._record.note_attempt(due, found, wait):
            self._tell(parcel, due, found, wait)

    def _note_crash(self, due: DueDelivery, error: Exception) -> bool:
        """Note an error of our own as an attempt that failed, so that it is tried later, and given up in the end.

        Return False if that cannot be noted; then it is sent again after its lease.
        """
        try:
            # Its text may tell of what is not the tenant's.
            told = f"the coordinator met {type(error).__name__}; its log says more"
            self._note(due, Attempted(delivered=False, error=told), None)
        except Exception as unnoted:  # noqa: BLE001 - the error itself is told already
            logger.warning("A webhook is left: %s", unnoted, extra={"action": "webhook_left"})
            return False
        return True

    def _tell(self, parcel: Parcel | None, due: DueDelivery, found: Attempted, wait: float | None) -> None:
        outcome: WebhookOutcome = (
            "delivered" if found.delivered else "gone" if found.gone else "parked" if wait is None else "failed"
        )
        self._observers.webhook_attempted(outcome)
        extra = {
            "webhook": due.webhook_id,
            "delivery": due.id,
            "attempt": due.attempt,
            "status": found.status_code,
            "tenant": None if parcel is None else parcel.delivery.tenant,
            "run": None if parcel is None else parcel.delivery.run_id,
        }
        if found.delivered:
            logger.debug("Webhook %s is delivered", due.id, extra={"action": "webhook_delivered", **extra})
            return
        extra["error"] = found.error
        if found.gone:
            logger.warning("Webhook %s: the receiver is gone", due.id, extra={"action": "webhook_gone", **extra})
        elif wait is None:
            logger.warning("Webhook %s is given up", due.id, extra={"action": "webhook_parked", **extra})
        else:
            extra["wait"] = round(wait, 1)
            logger.info("Webhook %s is tried again", due.id, extra={"action": "webhook_failed", **extra})

    def _forget(self) -> None:
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _REST
        if self._record.sweep_lease(_LEASE, self._holder, 2.5 * _REST):
            deleted = self._record.forget_deliveries(self._retention, _FORGOTTEN)
            self._next_look = now if deleted == _FORGOTTEN else self._next_look
