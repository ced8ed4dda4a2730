"""What a Celery worker's processes hold: opened after the fork, closed at the end."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from celery import Celery, signals

from turnwise.errors import TurnwiseError

T = TypeVar("T")
Queues = tuple[str, ...]


class WorkerProcess(Generic[T]):
    """One `T` per process that runs tasks.

    `open` is given the queues that the worker consumes. In a prefork worker each child opens its own; with the other
    pools the one process does. `on_ready` runs in the main process once the worker consumes.
    """

    def __init__(
        self,
        app: Celery,
        open: Callable[[Queues], T],
        close: Callable[[T], None],
        on_ready: Callable[[T | None], None] | None = None,
    ) -> None:
        self._app = app
        self._open = open
        self._close = close
        self._on_ready = on_ready
        self._lock = threading.Lock()
        self._held: T | None = None
        self._pid = 0
        signals.worker_process_init.connect(self._child_began, weak=False)
        signals.worker_process_shutdown.connect(self._child_ends, weak=False)
        signals.worker_ready.connect(self._ready, weak=False)
        signals.worker_shutdown.connect(self._main_ends, weak=False)

    def get(self) -> T:
        """What this process holds; opened at the first call."""
        with self._lock:
            if self._held is None or self._pid != os.getpid():
                self._held, self._pid = self._open(self._queues()), os.getpid()
            return self._held

    def _queues(self) -> Queues:
        return tuple(self._app.amqp.queues.consume_from)

    def _child_began(self, **_: Any) -> None:
        self._get_or_leave()

    def _child_ends(self, **_: Any) -> None:
        self._let_go()

    def _ready(self, sender: Any, **_: Any) -> None:
        forks = type(sender.pool).__module__.endswith("prefork")
        held = None if forks else self._get_or_leave()
        if self._on_ready is not None:
            try:
                self._on_ready(held)
            except TurnwiseError as error:
                _leave(error)

    def _main_ends(self, **_: Any) -> None:
        self._let_go()

    def _get_or_leave(self) -> T:
        try:
            return self.get()
        except TurnwiseError as error:
            _leave(error)

    def _let_go(self) -> None:
        with self._lock:
            if self._held is not None and self._pid == os.getpid():
                self._close(self._held)
            self._held = None


def _leave(error: TurnwiseError) -> NoReturn:
    """A worker that can not work says why and ends; Celery would only log it and go on."""
    sys.stderr.write(f"turnwise: {error}\n")
    raise SystemExit(2) from error


def run_worker(app: Celery, queues: Sequence[str], *, pool: str, concurrency: int, name: str, level: str) -> None:
    """Run a Celery worker in this process until it is told to stop.

    A warm shutdown (SIGTERM) takes no more messages and waits for what it works on.
    """
    app.worker_main(
        [
            "worker",
            "--queues",
            ",".join(queues),
            "--pool",
            pool,
            "--concurrency",
            str(concurrency),
            "--hostname",
            f"{name}-{os.getpid()}@%h",
            "--loglevel",
            level,
            "--without-gossip",
            "--without-mingle",
        ]
    )
