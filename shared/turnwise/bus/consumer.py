"""Celery's consumer without the parts that would cost and not serve here."""

from __future__ import annotations

from typing import Any, ClassVar

from celery.worker.consumer import Consumer


class WorkConsumer(Consumer):  # type: ignore[misc]  # Celery ships no types
    """What `worker_consumer` names.

    Gossip and Mingle make workers talk to each other, n² messages of them, about clocks and revoked tasks that are not
    used; they are steps that others build on, so they are switched off, as `--without-gossip --without-mingle` would.
    DelayedDelivery declares 28 exchanges and queues for ETAs, of which there are none (timers are rows): left out.
    """

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]  # Celery ships no types
        """The start-up steps that are left."""

        default_steps: ClassVar[list[Any]] = [
            step for step in Consumer.Blueprint.default_steps if not str(step).endswith(":DelayedDelivery")
        ]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "without_gossip": True, "without_mingle": True})
