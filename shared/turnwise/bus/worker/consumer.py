"""Celery's consumer without the parts that would cost and not serve here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from celery.worker.consumer import Consumer

from turnwise.bus.signing import NO_KEYS
from turnwise.bus.worker.message_check import work_in
from turnwise.bus.worker.process import leave
from turnwise.bus.worker.queue_switches import switches_of
from turnwise.errors import InvalidRequestError

logger = logging.getLogger(__name__)

# Seconds between two tries to connect again. Celery would wait longer each time, up to 30 s, and so leave its queues
# alone for about as long again as the broker was away.
_RETRY_FIRST = 0.5
_RETRY_LAST = 1.0


class WorkConsumer(Consumer):  # type: ignore[misc]  # Celery ships no types
    """The class that `worker_consumer` names.

    Gossip and Mingle make workers talk to each other, n² messages of them, about clocks and revoked tasks that are not
    used; they are steps that others build on, so they are switched off, as `--without-gossip --without-mingle` would.
    DelayedDelivery declares 28 exchanges and queues for ETAs, of which there are none (timers are rows): left out.
    """

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]  # Celery ships no types
        """The start-up steps that are left."""

        default_steps: ClassVar[list[Any]] = [
            "turnwise.bus.worker.remote_control:CommandsStep" if str(step).endswith(":Control") else step
            for step in Consumer.Blueprint.default_steps
            if not str(step).endswith(":DelayedDelivery")
        ]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "without_gossip": True, "without_mingle": True})
        self._consuming = False
        self._tried_at = 0.0
        # The fault that the log has, until messages are heard again.
        self._told = ""
        switches_of(self.app).serve(self.app.amqp.queues.consume_from)

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return what is called with each message: it looks before Celery does, and drops what is no work of ours."""
        handle = super().create_task_handler(*args, **options)
        keys = getattr(self.app, "turnwise_keys", NO_KEYS)

        def take(message: Any) -> None:
            try:
                work_in(message, keys)
            except InvalidRequestError as error:
                logger.warning("A message is refused: %s", error, extra={"action": "message_refused"})
                message.ack_log_error(logger, self.connection_errors)
            else:
                handle(message)

        return take

    def ensure_connected(self, conn: Any) -> Any:
        """The same, with short pauses between its tries."""
        pauses = {"interval_start": _RETRY_FIRST, "interval_step": _RETRY_FIRST, "interval_max": _RETRY_LAST}
        conn.ensure_connection = partial(conn.ensure_connection, **pauses)
        return super().ensure_connected(conn)

    def on_ready(self) -> None:
        """The same, and say so if messages were not heard for a while."""
        super().on_ready()
        self._consuming = True
        if self._told:
            logger.info("Messages are heard again", extra={"action": "worker_connected"})
            self._told = ""

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """Say once what is wrong, and wait; end a process that was never ready if the broker refuses what it needs.

        kombu waits between its tries while no broker answers. One that answers and refuses comes here at once.
        """
        fault = self.app.turnwise_broker.unavailable(exc)
        # Celery forgets the callback once it has called it.
        if self.init_callback is not None and isinstance(exc, self.channel_errors):
            leave(fault)
        if str(fault) != self._told:
            self._told = str(fault)
            logger.warning(
                "Messages are not heard, a try every %.0f s: %s",
                _RETRY_LAST,
                fault,
                extra={"action": "worker_disconnected"},
            )
        self._wait_for_next_try()

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """The same, without dying of it; a try that did not come as far as consuming is one that failed to connect.

        On Redis, kombu wants to put back what was taken and not begun, over the connection that is already gone, and
        fails with an error that Celery takes for a fatal one. Nothing needs to be put back: a sweep finds what is lost.
        """
        if not self._consuming:
            self._drop_connection()
            self.on_connection_error_before_connected(exc)
            return
        self._consuming = False
        try:
            super().on_connection_error_after_connected(exc)
        except AttributeError as error:
            logger.info(
                "Messages that no one had begun were not put back: %s", error, extra={"action": "messages_dropped"}
            )
        self._wait_for_next_try()

    def _drop_connection(self) -> None:
        """Unlike `close`, it does not wait for the broker's farewell."""
        with suppress(*self.connection_errors, *self.channel_errors):
            self.connection.collect()
        self.connection: Any = None

    def _wait_for_next_try(self) -> None:
        """Let `_RETRY_LAST` seconds pass from one try to the next; `start` looks for a shutdown before each."""
        time.sleep(max(0.0, self._tried_at + _RETRY_LAST - time.monotonic()))
        self._tried_at = time.monotonic()
