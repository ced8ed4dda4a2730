"""The resources of a Celery worker's processes: opened after the fork, closed at the end."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from celery import Celery, signals
from celery.apps import worker as celery_program
from celery.worker import state as worker_state

from turnwise.base.garbage import keep_memory_tidy
from turnwise.bus.worker.queue_switches import switches_of
from turnwise.errors import ConfigurationError, TurnwiseError
from turnwise.observability.logs import tell_fault

logger = logging.getLogger(__name__)

T = TypeVar("T")
Queues = tuple[str, ...]
# How many prefork children a worker may have at most, and at least.
Autoscale = tuple[int, int]


class WorkerProcess(Generic[T]):
    """One `T` per process that runs tasks.

    `open` is given the queues that the worker consumes. In a prefork worker each child opens its own; with the other
    pools the one process does. `on_ready` runs in the main process once the worker consumes, `on_stopping` there on a
    thread of its own when it is told to stop. Both are given what that process holds; None where its children do.
    """

    def __init__(
        self,
        app: Celery,
        open: Callable[[Queues], T],
        close: Callable[[T], None],
        on_ready: Callable[[T | None], None] | None = None,
        on_stopping: Callable[[T | None], None] | None = None,
    ) -> None:
        self._app = app
        self._open = open
        self._close = close
        self._on_ready = on_ready
        self._on_stopping = on_stopping
        self._lock = threading.Lock()
        self._held: T | None = None
        self._pid = 0
        self._pool: Any = None
        signals.worker_process_init.connect(self._child_began, weak=False)
        signals.worker_process_shutdown.connect(self._child_ends, weak=False)
        signals.celeryd_init.connect(self._check, weak=False)
        signals.worker_ready.connect(self._ready, weak=False)
        signals.worker_shutting_down.connect(self._stopping, weak=False)
        signals.worker_shutdown.connect(self._main_ends, weak=False)

    def get(self) -> T:
        """Return what this process holds; opened at the first call."""
        with self._lock:
            if self._held is None or self._pid != os.getpid():
                self._held, self._pid = self._open(self._queues()), os.getpid()
            return self._held

    def children(self) -> frozenset[int]:
        """The ids of the processes that a prefork worker has forked; none with other pools, nor before it is ready."""
        return frozenset(self._pool.info["processes"]) if self._pool is not None else frozenset()

    def _queues(self) -> Queues:
        # A queue that was cancelled meanwhile is one that a new child will serve when it is added again.
        return tuple(switches_of(self._app).served.values()) or tuple(self._app.amqp.queues.consume_from)

    def _check(self, options: dict[str, Any], conf: Any, **_: Any) -> None:
        # Celery's command line names it otherwise than its API.
        pool = options.get("pool_cls") or options.get("pool") or conf.worker_pool
        name = pool if isinstance(pool, str) else pool.__module__.rpartition(".")[2]
        try:
            check_autoscale(name, options.get("autoscale"))
        except ConfigurationError as error:
            leave(error)
        if name == "solo":
            # The thread that would send heartbeats works on the messages, and a long answer would cost the connection.
            conf.broker_heartbeat = 0

    def _child_began(self, **_: Any) -> None:
        # An autoscaler may take a child back that has just been forked, and still has its parent's handler of SIGTERM:
        # that notes the wish, and no one would ever look.
        if worker_state.should_stop is not None:
            raise SystemExit(0)
        self._get_or_leave()
        keep_memory_tidy()

    def _child_ends(self, **_: Any) -> None:
        self._let_go()

    def _ready(self, sender: Any, **_: Any) -> None:
        forks = type(sender.pool).__module__.endswith("prefork")
        held = None if forks else self._get_or_leave()
        keep_memory_tidy()
        self._pool = sender.pool if forks else None
        if self._on_ready is not None:
            try:
                self._on_ready(held)
            except TurnwiseError as error:
                leave(error)

    def _stopping(self, **_: Any) -> None:
        # This runs within a signal's handler, which may have interrupted whoever holds a lock.
        threading.Thread(target=self._drain, name="turnwise-drain", daemon=True).start()

    def _drain(self) -> None:
        logger.info("This worker is told to end, and takes no more work", extra={"action": "worker_draining"})
        held = self._held if self._pid == os.getpid() else None
        if self._on_stopping is not None and (held is not None or self._pool is not None):
            self._on_stopping(held)

    def _main_ends(self, **_: Any) -> None:
        self._let_go()

    def _get_or_leave(self) -> T:
        try:
            return self.get()
        except TurnwiseError as error:
            leave(error)

    def _let_go(self) -> None:
        with self._lock:
            if self._held is not None and self._pid == os.getpid():
                self._close(self._held)
            self._held = None


def leave(error: TurnwiseError) -> NoReturn:
    """A worker that cannot work says why and ends; Celery would only log it and continue."""
    tell_fault(str(error))
    raise SystemExit(2) from error


def check_autoscale(pool: str, autoscale: object) -> None:
    """Raise `ConfigurationError` if Celery could not do it: it would fail with the first message."""
    if autoscale and pool in ("threads", "thread", "solo"):
        raise ConfigurationError(
            f"--autoscale changes the number of prefork children, but this worker's pool is {pool}; use --pool "
            "prefork, or --concurrency alone: threads are begun as they are needed"
        )


def _silence_celery() -> None:
    """Keep Celery from printing: its banner and its word about a shutdown are no log lines, and ours say the same.

    It writes the latter to the process's first standard output, within a signal's handler, and has no option for it.
    """
    celery_program.safe_say = lambda *_: None


def run_worker(
    app: Celery,
    queues: Sequence[str],
    *,
    pool: str,
    concurrency: int,
    name: str,
    level: str,
    autoscale: Autoscale | None = None,
) -> None:
    """Run a Celery worker in this process until it is told to stop.

    A warm shutdown (SIGTERM) takes no more messages and waits for what it works on. With `autoscale` the number of
    prefork children follows the messages in hand, in place of `concurrency`. Exits with Celery's code if that is
    an error's.
    """
    # Not by Celery's command line: that imports every plugin that is installed, for seconds and 20 MB.
    _silence_celery()
    worker = app.Worker(
        queues=list(queues),
        pool_cls=pool,
        concurrency=concurrency,
        autoscale=autoscale,
        hostname=f"{name}-{os.getpid()}@{socket.gethostname()}",
        loglevel=level,
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    )
    worker.start()
    if worker.exitcode:
        raise SystemExit(worker.exitcode)
