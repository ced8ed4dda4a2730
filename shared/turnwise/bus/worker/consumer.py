"""Celery's consumer without the parts that would cost and not serve here."""

from __future__ import annotations

import logging
from collections.abc import Callable
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

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """The same, except at a start that the broker refuses."""
        self._leave_unless_ready(exc)
        super().on_connection_error_before_connected(exc)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """The same, except at a start that the broker refuses, and without dying of it.

        On Redis, kombu wants to put back what was taken and not begun, over the connection that is already gone, and
        fails with an error that Celery takes for a fatal one. Nothing needs to be put back: a sweep finds what is lost.
        """
        self._leave_unless_ready(exc)
        try:
            super().on_connection_error_after_connected(exc)
        except AttributeError as error:
            logger.info(
                "Messages that no one had begun were not put back: %s", error, extra={"action": "messages_dropped"}
            )

    def _leave_unless_ready(self, exc: Exception) -> None:
        """End a process that was never ready if the broker is there and refuses what it needs."""
        # Celery forgets the callback once it has called it.
        if self.init_callback is not None and isinstance(exc, self.channel_errors):
            leave(self.app.turnwise_broker.unavailable(exc))
