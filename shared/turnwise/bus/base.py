"""The interface of a bus; `in_process` and `celery_bus` are the two that exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turnwise.bus.envelope import AskEnvelope, Notice

OnNotice = Callable[[Notice], None]


class Subscription(Protocol):
    """A listener on a thread of its own; `tell` reaches it alone by its `address`."""

    address: str

    def wait_ready(self, timeout: float) -> bool:
        """Wait until notices arrive here, at most `timeout` seconds, and return whether they do."""
        ...

    def close(self) -> None:
        """Stop listening; returns when the callback runs no more."""
        ...


class Bus(Protocol):
    """Wakes the processes of a served run. Every method may be called from any thread.

    `publish_ask`, `wake`, `notify` and `tell` raise `BrokerUnavailableError` when the broker does not answer.
    What they were to tell is in the database already, so a caller logs it and continues: the sweeper tells it again.
    """

    def publish_ask(self, envelope: AskEnvelope) -> None:
        """Put a permit into the queue named by the envelope."""
        ...

    def wake(self, run: str, version: str | None = None) -> None:
        """Tell one coordinator that the run may be able to move; `version`: one of that version."""
        ...

    def notify(self, notice: Notice) -> None:
        """Tell every listener that the kind of notice is for; one that no one hears is gone."""
        ...

    def tell(self, listener: str, notice: Notice) -> None:
        """Tell the listener with this address; the notice is lost if there is no such listener."""
        ...

    def listen(self, callback: OnNotice, *, as_worker: bool = False) -> Subscription:
        """Call `callback` with every notice, on a thread of its own that reconnects by itself.

        With `as_worker` only the notices that processes need which serve runs are sent here: cancellations, and which
        runs are watched. Other listeners do not get the announcements of watched runs.
        Returns at once. A callback that raises is logged, and listening continues.
        """
        ...

    def waiting(self, queue: str) -> int:
        """Return how many messages wait in the queue, without those that a worker has taken; 0 if there is no such
        queue.
        """
        ...

    def check(self) -> None:
        """Raise `BrokerUnavailableError`, saying what to do, if the broker does not answer."""
        ...

    def close(self) -> None:
        """Let go of connections and threads; the bus is not used afterwards."""
        ...
