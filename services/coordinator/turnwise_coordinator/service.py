"""The coordinator as a Celery worker on the queue `coordinator`."""

from __future__ import annotations

from typing import Any

from turnwise.bus.broker.protocol import MOVE_TASK
from turnwise.bus.envelope import MoveEnvelope, parse_envelope
from turnwise.bus.routing import COORDINATOR_QUEUE, all_queues
from turnwise.bus.worker.celery_app import CeleryApp, task
from turnwise.bus.worker.process import Queues, WorkerProcess, run_worker
from turnwise.bus.worker.queue_switches import QueueSwitches, switches_of
from turnwise.observability.telemetry.export import start_exporting
from turnwise.processes.bootstrap import Parts, open_parts, serve_own_metrics
from turnwise.processes.metrics import watch_record
from turnwise.processes.settings import ServiceSettings
from turnwise.processes.worker import served_lane, worker_app
from turnwise.serving.watches import hear_watches
from turnwise_coordinator.coordinator import Coordinator


class CoordinatorProcess:
    """The parts of one coordinator process, sweeping while it is open."""

    def __init__(self, settings: ServiceSettings, switches: QueueSwitches) -> None:
        self._switches = switches
        self._telemetry = start_exporting("turnwise-coordinator")
        self.parts: Parts = open_parts(settings)
        parts = self.parts
        self.coordinator = Coordinator(
            parts.store,
            parts.bus,
            parts.app,
            settings,
            parts.observers,
            paused=lambda: switches.paused(COORDINATOR_QUEUE),
        )
        queues = all_queues(settings.llm_queues, settings.agent_queues)
        watch_record(parts.metrics.registry, parts.store.monitor, queues)
        hear_watches(parts.bus, parts.observers)
        self.coordinator.start()

    def health(self) -> tuple[bool, str]:
        """Ready while the database answers, and it hears the broker; its moves are made by sweeps if it does not."""
        try:
            self.parts.database.check_schema()
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the probe says it
            return False, str(error)
        hearing = self.coordinator.hearing
        return (True, self._switches.told()) if hearing.deaf_for() is None else (False, hearing.told())

    def close(self) -> None:
        """Stop sweeping and let go of everything."""
        self.coordinator.stop()
        self.parts.close()
        self._telemetry.flush()


def build(settings: ServiceSettings) -> CeleryApp:
    """The Celery application of a coordinator; nothing is opened before the worker is ready.

    Raises `ConfigurationError` if no broker is set.
    """
    app = worker_app("turnwise-coordinator", settings, [COORDINATOR_QUEUE], prefetch_multiplier=16)

    def open_process(_queues: Queues) -> CoordinatorProcess:
        return CoordinatorProcess(settings, switches_of(app))

    def ready(held: CoordinatorProcess | None) -> None:
        held = held or process.get()
        serve_own_metrics(settings, held.parts.metrics.registry, held.health)

    process: WorkerProcess[CoordinatorProcess] = WorkerProcess(app, open_process, CoordinatorProcess.close, ready)

    @task(app, MOVE_TASK)
    def move(data: dict[str, Any]) -> None:
        envelope = parse_envelope(data)
        if isinstance(envelope, MoveEnvelope):
            process.get().coordinator.woken(envelope.run)

    return app


def run(settings: ServiceSettings, concurrency: int = 4) -> None:
    """Run a coordinator until it is told to stop; raises what `open_parts` raises before anything is started."""
    open_parts(settings).close()
    run_worker(
        build(settings),
        [served_lane(settings, COORDINATOR_QUEUE)],
        pool="threads",
        concurrency=concurrency,
        name="coordinator",
        level=settings.log_level,
    )
