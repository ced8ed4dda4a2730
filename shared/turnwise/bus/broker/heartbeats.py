"""Heartbeats of a connection that a loop of ours drains."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import time

from kombu.connection import Connection

# How often in a heartbeat's interval the connection is looked after. py-amqp sends a heartbeat at the first look that
# comes more than half an interval after the last bytes sent, and takes bytes sent since the last look for sent just
# now. So the longest silence is half an interval and two looks: one interval. RabbitMQ cuts after two.
_LOOKS = 4


class Pulse:
    """Call `keep` in every pass of the loop, whatever arrived; it costs a look at the clock until something is due.

    Redis has no heartbeat. There kombu pings the subscription, if something asks it to, and drops the connection when
    several pings stay unanswered.
    """

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        # The broker may have asked for a shorter interval than ours.
        self._pause = (connection.get_heartbeat_interval() or seconds) / _LOOKS
        self._due = time.monotonic() + self._pause

    @property
    def pause(self) -> float:
        """Seconds for which the loop may wait for a message at most."""
        return self._pause

    def keep(self) -> None:
        """Send a heartbeat if one is due; raises a connection error if the broker's have failed to come."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._pause
        if self._connection.supports_heartbeats:
            self._connection.heartbeat_check()
        else:
            self._connection.transport.cycle.maybe_check_subclient_health()
