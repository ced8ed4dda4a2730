"""The responders as a Celery worker on the queues of models and tool handlers."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from turnwise.base.clock import SYSTEM_CLOCK
from turnwise.bus.broker.protocol import ANSWER_TASK
from turnwise.bus.envelope import AskEnvelope, parse_envelope
from turnwise.bus.routing import queue_of_lane, work_queues
from turnwise.bus.worker.celery_app import CeleryApp, task
from turnwise.bus.worker.process import Autoscale, Queues, WorkerProcess, check_autoscale, run_worker
from turnwise.bus.worker.queue_switches import QueueSwitches, switches_of
from turnwise.errors import ConfigurationError, EnvironmentFault
from turnwise.observability.telemetry.export import start_exporting
from turnwise.processes.bootstrap import Parts, open_parts, open_store, serve_own_metrics
from turnwise.processes.metrics.multiprocess import clear_counts
from turnwise.processes.settings import ServiceSettings
from turnwise.processes.worker import served_lane, worker_app
from turnwise_responders.forked import Forked
from turnwise_responders.idle_poll import IdlePoll
from turnwise_responders.responders import Responders


class ResponderProcess:
    """The parts of one process that answers; it holds a lease while it is open."""

    def __init__(
        self, settings: ServiceSettings, queues: Queues, switches: QueueSwitches, drain_over: Callable[[], bool]
    ) -> None:
        self._switches = switches
        self._telemetry = start_exporting("turnwise-responders")
        self.parts: Parts = open_parts(settings)
        self._beat_database, beat_store = open_store(settings, connections=1)
        parts = self.parts
        self.responders = Responders(
            parts.store,
            parts.bus,
            parts.app,
            settings,
            parts.observers,
            queues=queues,
            beat_store=beat_store,
            paused=switches.paused,
            drain_over=drain_over,
        )
        self.idle_poll = IdlePoll(
            parts.store.worker,
            parts.bus,
            self.responders.hearing,
            self.responders.serve,
            self.responders.busy,
            self.responders.note_deaf,
            queues=queues,
            slots=settings.concurrency,
            paused=switches.paused,
        )
        self.responders.start()
        self.idle_poll.start()

    def health(self) -> tuple[bool, str]:
        """Ready while it holds a lease, and hears the broker."""
        if not self.responders.healthy:
            return False, "the lease could not be renewed; is the database away?"
        hearing = self.responders.hearing
        return (True, self._switches.told()) if hearing.deaf_for() is None else (False, hearing.told())

    def alive(self) -> tuple[bool, str]:
        """Return whether a restart would not help: it would, if this process is deaf for long and the broker
        answers.
        """
        return (False, self.responders.hearing.told()) if self.idle_poll.incurable else (True, "ok")

    def drain(self) -> None:
        """The process was told to end: take nothing more, and do not work for ever on what it has."""
        self.idle_poll.stop_looking()
        self.responders.drain()

    def close(self) -> None:
        """Sign off and let go of everything."""
        self.idle_poll.stop()
        self.responders.stop()
        self._beat_database.close()
        self.parts.close()
        self._telemetry.flush()


def _broker_answers(settings: ServiceSettings) -> bool:
    try:
        open_parts(settings).close()
    except EnvironmentFault:
        return False
    return True


def build(settings: ServiceSettings) -> CeleryApp:
    """The Celery application of responders; nothing is opened before the worker is ready, or the child is forked.

    Raises `ConfigurationError` if no broker is set.
    """
    clear_counts()
    return _application(settings)


def _application(settings: ServiceSettings) -> CeleryApp:
    app = worker_app("turnwise-responders", settings, work_queues(settings.llm_queues, settings.agent_queues))

    # A byte that this process shares with the children of a prefork worker: 1 once the time of a drain is over.
    drained = mmap.mmap(-1, 1)

    def open_process(queues: Queues) -> ResponderProcess:
        served = tuple(queue_of_lane(name) for name in queues)
        return ResponderProcess(settings, served, switches_of(app), lambda: drained[0] == 1)

    def ready(held: ResponderProcess | None) -> None:
        if held is not None:
            serve_own_metrics(settings, held.parts.metrics.registry, held.health, held.alive)
        else:  # prefork: the children hold leases, this process shows their sums and tells how they are
            forked = Forked(settings, process.children, lambda: _broker_answers(settings))
            serve_own_metrics(settings, CollectorRegistry(), forked.health, forked.alive)

    def stopping(held: ResponderProcess | None) -> None:
        if held is not None:
            held.drain()
        else:  # prefork: Celery lets the children end their work, and tells them nothing
            SYSTEM_CLOCK.sleep(settings.drain_seconds)
            drained[0] = 1

    process: WorkerProcess[ResponderProcess] = WorkerProcess(app, open_process, ResponderProcess.close, ready, stopping)

    @task(app, ANSWER_TASK)
    def answer(data: dict[str, Any]) -> None:
        envelope = parse_envelope(data)
        if isinstance(envelope, AskEnvelope):
            process.get().responders.answer(envelope)

    return app


def run(
    settings: ServiceSettings,
    queues: Sequence[str] = (),
    concurrency: int | None = None,
    pool: str = "threads",
    autoscale: Autoscale | None = None,
) -> None:
    """Run a worker on `queues` (default: all; pinned: what this version has in them) until it is told to stop.

    With `autoscale` a prefork worker has so many children at most, and at least, as it has messages in hand.

    Raises `ConfigurationError` for an unknown queue and for a pool that cannot be scaled, and what `open_parts`
    raises, before anything is started.
    """
    check_autoscale(pool, autoscale)
    known = work_queues(settings.llm_queues, settings.agent_queues)
    unknown = [queue for queue in queues if queue not in known]
    if unknown:
        raise ConfigurationError(f"there is no queue {unknown[0]!r}; the settings know {', '.join(known)}")
    clear_counts()  # before anything is counted: by `open_parts`, too
    open_parts(settings).close()
    slots = concurrency or settings.concurrency
    run_worker(
        _application(settings.model_copy(update={"concurrency": slots})),
        [served_lane(settings, queue) for queue in queues or known],
        pool=pool,
        concurrency=slots,
        name="worker",
        level=settings.log_level,
        autoscale=autoscale,
    )
