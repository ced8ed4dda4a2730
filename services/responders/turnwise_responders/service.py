"""The responders as a Celery worker on the queues of models and tool handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnwise.bootstrap import Parts, broker_url, open_parts, open_store, serve_own_metrics
from turnwise.bus.celery_app import CeleryApp, make_celery, task
from turnwise.bus.envelope import AskEnvelope, parse_envelope
from turnwise.bus.protocol import ANSWER_TASK
from turnwise.bus.routing import COORDINATOR_QUEUE, all_queues
from turnwise.bus.worker_process import Queues, WorkerProcess, run_worker
from turnwise.errors import ConfigurationError
from turnwise.service_settings import ServiceSettings
from turnwise_responders.responders import Responders


class ResponderProcess:
    """The parts of one process that answers; it holds a lease while it is open."""

    def __init__(self, settings: ServiceSettings, queues: Queues) -> None:
        self.parts: Parts = open_parts(settings)
        self._beat_database, beat_store = open_store(settings)
        parts = self.parts
        self.responders = Responders(
            parts.store, parts.bus, parts.app, settings, parts.metrics, queues=queues, beat_store=beat_store
        )
        self.responders.start()

    def health(self) -> tuple[bool, str]:
        """Ready while it holds a lease."""
        held = self.responders.healthy
        return held, "ok" if held else "the lease could not be renewed; is the database away?"

    def close(self) -> None:
        """Sign off and let go of everything."""
        self.responders.stop()
        self._beat_database.close()
        self.parts.close()


def work_queues(settings: ServiceSettings) -> list[str]:
    """Every queue that responders may serve, as the settings name them."""
    return [q for q in all_queues(settings.llm_queues, settings.agent_queues) if q != COORDINATOR_QUEUE]


def build(settings: ServiceSettings) -> CeleryApp:
    """The Celery application of responders; nothing is opened before the worker is ready, or the child is forked.

    Raises `ConfigurationError` if no broker is set.
    """
    app = make_celery("turnwise-responders", broker_url(settings), work_queues(settings))

    def open_process(queues: Queues) -> ResponderProcess:
        return ResponderProcess(settings, queues)

    def ready(held: ResponderProcess | None) -> None:
        if held is not None:
            serve_own_metrics(settings, held.parts.metrics.registry, held.health)
        else:  # prefork: the children hold leases, this process only shows their sums
            parts = open_parts(settings)
            serve_own_metrics(settings, parts.metrics.registry, lambda: (True, "ok"))
            parts.close()

    process: WorkerProcess[ResponderProcess] = WorkerProcess(app, open_process, ResponderProcess.close, ready)

    @task(app, ANSWER_TASK)
    def answer(data: dict[str, Any]) -> None:
        envelope = parse_envelope(data)
        if isinstance(envelope, AskEnvelope):
            process.get().responders.answer(envelope)

    return app


def run(
    settings: ServiceSettings, queues: Sequence[str] = (), concurrency: int | None = None, pool: str = "threads"
) -> None:
    """Run a worker on `queues` (default: all) until it is told to stop.

    Raises `ConfigurationError` for an unknown queue, and what `open_parts` raises, before anything is started.
    """
    known = work_queues(settings)
    unknown = [queue for queue in queues if queue not in known]
    if unknown:
        raise ConfigurationError(f"there is no queue {unknown[0]!r}; the settings know {', '.join(known)}")
    open_parts(settings).close()
    run_worker(
        build(settings),
        list(queues) or known,
        pool=pool,
        concurrency=concurrency or settings.concurrency,
        name="worker",
        level=settings.log_level,
    )
