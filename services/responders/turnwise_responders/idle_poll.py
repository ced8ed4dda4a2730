"""A responder process that has room looks for itself: its broker may have lost what would have told it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from turnwise.base.clock import Thread
from turnwise.bus.base import Bus
from turnwise.errors import BrokerUnavailableError, EnvironmentFault
from turnwise.record.roles.worker import WorkerRole
from turnwise.serving.bus_watch import BusWatch

logger = logging.getLogger(__name__)

# So many looks in the time after which silence is suspicious.
_LOOKS = 5
# A process is worth a restart when it has been deaf for so many times that long, though the broker answers.
INCURABLE = 12


class IdlePoll:
    """Serves asks that have waited for as long as silence is allowed to last, if it has room for them.

    `serve(queue)` claims an ask of the queue and answers it, and says whether there was one; at most `slots` at once.
    So work continues without the broker, if slowly; and whoever finds work in that way again and again is deaf, which
    `note_deaf` is told at each look. `incurable`: deaf for long, though the broker answers; only a restart helps.

    While messages come, they bring work enough for everybody, unless some were lost. So then it leaves alone what waits
    for a provider, and has room only if it had room at the look before, too: not for a moment, between two messages.
    """

    def __init__(
        self,
        store: WorkerRole,
        bus: Bus,
        hearing: BusWatch,
        serve: Callable[[str], bool],
        busy: Callable[[], int],
        note_deaf: Callable[[bool], None],
        *,
        queues: Sequence[str],
        slots: int,
        paused: Callable[[str], bool] = lambda _queue: False,
    ) -> None:
        self._store = store
        self._bus = bus
        self._hearing = hearing
        self._serve = serve
        self._busy = busy
        self._note_deaf = note_deaf
        self._queues = self._open = tuple(queues)
        self._paused = paused
        self._slots = slots
        self._room = 0
        self._clock = store.clock
        self._stopping = self._clock.event()
        self._thread: Thread | None = None
        self._serving: list[Thread] = []
        self.incurable = False

    def start(self) -> None:
        """Begin to look, on a thread of its own."""
        self._thread = self._clock.start("turnwise-idle-poll", self._work)

    def stop_looking(self) -> None:
        """Look no more; what was begun is answered."""
        self._stopping.set()

    def stop(self) -> None:
        """Look no more; returns when what was begun is answered."""
        self.stop_looking()
        if self._thread is not None:
            self._thread.join()
        for thread in self._serving:
            thread.join()

    def look(self) -> None:
        """Take up what waits; raises `DatabaseUnavailableError`."""
        before_open, self._open = self._open, tuple(queue for queue in self._queues if not self._paused(queue))
        if self._open != before_open:
            self._hearing.rest()
        deaf_for = self._hearing.deaf_for()
        self._note_deaf(deaf_for is not None)
        long = deaf_for is not None and deaf_for > INCURABLE * self._hearing.seconds
        self.incurable = long and self._broker_is_up()
        self._serving = [thread for thread in self._serving if thread.is_alive()]
        silent = self._hearing.silent()
        before, self._room = self._room, self._slots - self._busy()
        room = self._room if silent else min(before, self._room)
        if room <= 0 or not self._open:
            return
        for queue, waiting in self._store.overlooked(self._open, self._hearing.seconds, in_line=silent).items():
            for _ in range(min(waiting, room)):
                self._serving.append(self._clock.start("turnwise-poll", lambda queue=queue: self._drain(queue)))  # type: ignore[misc]
                room -= 1

    def _drain(self, queue: str) -> None:
        """Answer one ask of the queue, and others until there is none or the broker brings some."""
        try:
            while not self._stopping.is_set() and self._serve(queue):
                self._hearing.missed()
                if not self._hearing.silent():
                    break
        except EnvironmentFault as error:
            logger.warning("Could not take up work that no one told of: %s", error, extra={"action": "poll_failed"})
        except Exception:
            logger.exception("An ask that no one told of could not be answered", extra={"action": "poll_crashed"})

    def _broker_is_up(self) -> bool:
        try:
            self._bus.check()
        except BrokerUnavailableError:
            return False
        return True

    def _work(self) -> None:
        while not self._stopping.wait(self._hearing.seconds / _LOOKS):
            try:
                self.look()
            except EnvironmentFault as error:
                logger.warning("Could not look for work: %s", error, extra={"action": "poll_failed"})
            except Exception:
                # What keeps a deaf process at work must not end by an error.
                logger.exception("A look for work failed", extra={"action": "poll_crashed"})
