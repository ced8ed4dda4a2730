"""This process as a holder of leases: registered, renewed by a thread of its own, retired at the end."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence

from turnwise.base.clock import Thread
from turnwise.errors import EnvironmentFault
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.roles.process import ProcessRole

logger = logging.getLogger(__name__)


class Incarnation:
    """A worker's identity and its heartbeat; `after_beat` is called with the id after each renewal.

    `store` is used by the beat alone, so that a busy connection pool never delays it. Start it after a fork.
    """

    def __init__(
        self,
        store: ProcessRole,
        kind: str,
        queues: Sequence[str],
        version: str,
        beat: float,
        lease: float,
        after_beat: Callable[[str], None] = lambda worker: None,
    ) -> None:
        self._store = store
        self._info = WorkerInfo(
            kind=kind, queues=tuple(queues), host=socket.gethostname(), pid=os.getpid(), version=version
        )
        self._beat, self._lease = beat, lease
        self._after_beat = after_beat
        self._clock = store.clock
        self._stopping = self._clock.event()
        self._renewed = 0.0
        self._id = ""
        self._deaf = False
        self._thread: Thread | None = None

    def start(self) -> None:
        """Register and begin to renew; raises `DatabaseUnavailableError`."""
        self._register()
        self._tell_start()
        self._thread = self._clock.start("turnwise-beat", self._work)

    def stop(self) -> None:
        """Retire: what this process still holds is given to others at the next sweep."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self._store.retire_worker(self._id)
            extra = {"action": "worker_gone", "worker": self._id, "kind": self._info.kind}
            logger.info("A process signs off as %s", self._info.kind, extra=extra)
        except EnvironmentFault as error:
            logger.warning(
                "Could not sign off, the lease runs out by itself: %s", error, extra={"action": "retire_failed"}
            )

    def note_deaf(self, deaf: bool) -> None:
        """Let those who look at the fleet know whether this process hears its broker."""
        if self._id and deaf != self._deaf:
            self._store.note_deaf(self._id, deaf)
            self._deaf = deaf

    def note_draining(self) -> None:
        """Let those who look at the fleet know that this process is about to end."""
        try:
            if self._id:
                self._store.note_draining(self._id)
        except EnvironmentFault as error:
            logger.warning("The drain is not on record: %s", error, extra={"action": "drain_not_noted"})

    def current(self) -> str | None:
        """The id to claim with; None while the lease could not be renewed for its whole length."""
        return self._id if self._clock.monotonic() - self._renewed < self._lease else None

    def _register(self) -> None:
        self._id, self._deaf = self._store.register_worker(self._info), False
        self._renewed = self._clock.monotonic()

    def _tell_start(self) -> None:
        info = self._info
        logger.info(
            "A process signs on as %s",
            info.kind,
            extra={
                "action": "worker_started",
                "worker": self._id,
                "kind": info.kind,
                "queues": ",".join(info.queues),
                "host": info.host,
                "pid": info.pid,
                "version": info.version,
            },
        )

    def _work(self) -> None:
        while not self._stopping.wait(self._beat):
            begun = self._clock.monotonic()
            try:
                if self._store.beat(self._id):
                    self._renewed = begun
                    self._after_beat(self._id)
                else:
                    logger.warning(
                        "This worker was declared dead and begins anew; what it held is with others",
                        extra={"action": "incarnation_lost", "worker": self._id},
                    )
                    self._register()
            except EnvironmentFault as error:
                logger.warning("Could not renew the lease: %s", error, extra={"action": "beat_failed"})
            except Exception:
                # Without a beat all that this process does is in vain, so no error may end it.
                logger.exception("A beat failed", extra={"action": "beat_crashed"})
