"""What a bus can do; `in_process` and `celery_bus` are the two that exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turnwise.bus.envelope import AskEnvelope, Notice

OnNotice = Callable[[Notice], None]


class Subscription(Protocol):
    """A listener on a thread of its own."""

    def wait_ready(self, timeout: float) -> bool:
        """Wait until notices arrive here, at most `timeout` seconds; whether they do."""
        ...

    def close(self) -> None:
        """Stop listening; returns when the callback runs no more."""
        ...


class Bus(Protocol):
    """Wakes the processes of a served run. Every method may be called from any thread.

    `publish_ask`, `wake` and `notify` raise `BrokerUnavailableError` when the broker does not answer. What they were
    to tell is in the database already, so a caller logs it and goes on: the sweeper tells it again.
    """

    def publish_ask(self, envelope: AskEnvelope) -> None:
        """Put a permit into the queue named by the envelope."""
        ...

    def wake(self, run: str, version: str | None = None) -> None:
        """Tell one coordinator that the run may be able to move; `version`: one of that version."""
        ...

    def notify(self, notice: Notice) -> None:
        """Tell every listener; a notice that nobody hears is gone."""
        ...

    def listen(self, callback: OnNotice, *, cancellations_only: bool = False) -> Subscription:
        """Call `callback` with every notice, on a thread of its own that reconnects by itself.

        With `cancellations_only` nothing else is even sent here, which spares a worker the notices of every turn.
        Returns at once. A callback that raises is logged, and listening goes on.
        """
        ...

    def waiting(self, queue: str) -> int:
        """How many messages wait in the queue, without those that a worker has taken; 0 if there is no such queue."""
        ...

    def check(self) -> None:
        """Raise `BrokerUnavailableError`, saying what to do, if the broker does not answer."""
        ...

    def close(self) -> None:
        """Let go of connections and threads; the bus is not used afterwards."""
        ...
