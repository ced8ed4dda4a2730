"""The bus of the embedded server: queues and threads of one process."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from operator import itemgetter

from turnwise.base.process_end import ends_process
from turnwise.bus.base import OnNotice
from turnwise.bus.delivery import Delivery
from turnwise.bus.envelope import Announcement, AskEnvelope, CancelNotice, MoveEnvelope, Notice, Work
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.bus.worker.outage import left_to_a_sweep

logger = logging.getLogger(__name__)

OnWork = Callable[[Work], None]


class InProcessBus:
    """A `Bus` whose consumers are threads of this process, started with `consume`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # Each message with its number, which tells which one of several queues came first.
        self._queues: dict[str, deque[tuple[int, Work]]] = defaultdict(deque)
        self._last = 0
        self._consumptions: list[Consumption] = []
        self._listeners: list[_Listener] = []

    def publish_ask(self, envelope: AskEnvelope) -> None:
        """Append a permit to the envelope's queue."""
        self._put(envelope.queue, envelope)

    def wake(self, run: str, version: str | None = None) -> None:
        """Append a move to the coordinator's queue; there is one version of the application in a process."""
        self._put(COORDINATOR_QUEUE, MoveEnvelope(run=run))

    def notify(self, notice: Notice) -> None:
        """Hand the notice to the thread of every listener that it is for.

        An announcement is known to all workers when this returns: the run that it is of begins right after it, and on
        a busy machine would be answered before the listeners' threads have had their turn.
        """
        with self._changed:
            listeners = list(self._listeners)
        for listener in listeners:
            if isinstance(notice, CancelNotice):
                listener.put(notice)
            elif isinstance(notice, Announcement) == listener.as_worker:
                (listener.hand_over if listener.as_worker else listener.put)(notice)

    def tell(self, listener: str, notice: Notice) -> None:
        """Hand the notice to that listener's thread."""
        with self._changed:
            listeners = [one for one in self._listeners if one.address == listener]
        for one in listeners:
            one.put(notice)

    def listen(self, callback: OnNotice, *, as_worker: bool = False) -> _Listener:
        """Start a listener; it hears whatever is told after this returns."""
        listener = _Listener(callback, self._forget, as_worker)
        with self._changed:
            self._listeners.append(listener)
        return listener

    def consume(self, queues: Sequence[str], handler: OnWork, threads: int) -> Consumption:
        """Call `handler` with each message of `queues` on one of `threads` threads, the oldest of all first.

        So no queue waits for as long as another one is never empty.
        A handler that raises is logged, its message is gone: what it was about is found again in the database.
        """
        consumption = Consumption(self, queues, handler, threads)
        with self._changed:
            self._consumptions.append(consumption)
        return consumption

    def waiting(self, queue: str) -> int:
        """Messages that no thread has taken."""
        with self._changed:
            return len(self._queues[queue]) if queue in self._queues else 0

    def check(self) -> None:
        """Do nothing: queues in the process are always there."""

    def close(self) -> None:
        """Stop every consumer and listener; handlers that run are waited for."""
        with self._changed:
            consumptions, listeners = list(self._consumptions), list(self._listeners)
        for consumption in consumptions:
            consumption.ask_to_stop()
        for consumption in consumptions:
            consumption.stop()
        for listener in listeners:
            listener.close()

    def _put(self, queue: str, work: Work) -> None:
        with self._changed:
            self._last += 1
            self._queues[queue].append((self._last, work))
            # Whoever is woken may listen to other queues, so everybody looks.
            self._changed.notify_all()

    def _take(self, queues: Sequence[str], stopping: threading.Event) -> Work | None:
        """The next message of `queues`, waiting for it; None once `stopping` is set."""
        with self._changed:
            while not stopping.is_set():
                filled = [queue for name in queues if (queue := self._queues.get(name))]
                if filled:
                    return min(filled, key=itemgetter(0)).popleft()[1]
                self._changed.wait()
        return None

    def _wake_consumers(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _forget(self, listener: _Listener) -> None:
        with self._changed:
            if listener in self._listeners:
                self._listeners.remove(listener)


class Consumption:
    """The threads that work on some queues of an `InProcessBus`."""

    def __init__(self, bus: InProcessBus, queues: Sequence[str], handler: OnWork, threads: int) -> None:
        self._bus = bus
        self._queues = tuple(queues)
        self._handler = handler
        self._stopping = threading.Event()
        name = "turnwise-" + "+".join(self._queues)
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def ask_to_stop(self) -> None:
        """Take no more messages; returns at once."""
        self._stopping.set()
        self._bus._wake_consumers()

    def stop(self, timeout: float | None = None) -> bool:
        """Take no more messages, and wait at most `timeout` seconds for each running handler.

        Return whether all ended.
        """
        self.ask_to_stop()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout)
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (work := self._bus._take(self._queues, self._stopping)) is not None:
            try:
                with left_to_a_sweep(work.kind):
                    self._handler(work)
            except BaseException as error:
                # With its threads, the server would stop to take messages.
                if ends_process(error):
                    raise
                logger.exception("A message of kind %s failed", work.kind, extra={"action": "work_failed"})


class _Listener:
    """A listener of an `InProcessBus`."""

    def __init__(self, callback: OnNotice, forget: Callable[[_Listener], None], as_worker: bool = False) -> None:
        self.address = uuid.uuid4().hex
        self.as_worker = as_worker
        self._forget = forget
        self._delivery = Delivery(callback)
        self.put = self._delivery.put
        self.hand_over = self._delivery.hand_over

    def wait_ready(self, timeout: float) -> bool:
        """Always ready."""
        return True

    def close(self) -> None:
        """Stop after what is queued already."""
        self._forget(self)
        self._delivery.close()
