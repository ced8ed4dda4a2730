"""The application's tasks, the workers, and how much waits for them."""

from __future__ import annotations

from fastapi import APIRouter

from turnwise.api.fleet import QueueView, TaskView, WorkerView
from turnwise.api.pages import Page
from turnwise.app import App
from turnwise.bus.routing import COORDINATOR_QUEUE, all_queues
from turnwise.record.asks.worker_records import QueueStat, empty_queue
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES, READS
from turnwise_gateway.gateway import Here, Operated
from turnwise_gateway.http.problem import problems
from turnwise_gateway.views import when

router = APIRouter(prefix="/v1", tags=["fleet"])


@router.get("/tasks", dependencies=[READS], responses=problems(503))
def list_tasks(gateway: Here) -> Page[TaskView]:
    """Return what runs can be made of."""
    return Page(items=[_task(gateway.app, name) for name in gateway.app.tasks])


def _task(app: App, name: str) -> TaskView:
    tree = app.tree(name)
    return TaskView(
        name=name,
        application=app.name,
        version=app.version,
        paths=list(tree.tasks),
        keeps_conversation=not tree.root.restart,
    )


@router.get("/workers", dependencies=[ADMINISTERS, OPERATES], responses=problems(503))
def list_workers(gateway: Operated) -> Page[WorkerView]:
    """Worker processes, newest first."""
    leased = gateway.record.leased_by_worker()
    return Page(
        items=[
            WorkerView(
                id=worker.id,
                kind=worker.kind,
                queues=worker.queues,
                host=worker.host,
                pid=worker.pid,
                version=worker.version,
                state=worker.shown_state,
                started_at=when(worker.started_at),
                beat_at=when(worker.beat_at),
                leased=leased.get(worker.id, 0),
            )
            for worker in gateway.record.workers()
        ]
    )


@router.get("/queues", dependencies=[READS], responses=problems(503))
def list_queues(gateway: Here) -> Page[QueueView]:
    """The queues of the installation, and others that hold asks; of the asks those of the caller's tenant."""
    record, settings = gateway.record, gateway.settings
    stats = {stat.queue: stat for stat in record.queue_stats()}
    serving, paused = record.serving_workers(), record.paused_queues()
    known = [q for q in all_queues(settings.llm_queues, settings.agent_queues) if q != COORDINATOR_QUEUE]
    return Page(
        items=[
            _queue(stats.get(name) or empty_queue(name), serving[name], name in paused)
            for name in dict.fromkeys((*known, *stats))
        ]
    )


def _queue(stat: QueueStat, workers: int, paused: bool) -> QueueView:
    return QueueView(
        queue=stat.queue,
        runnable=stat.runnable,
        leased=stat.leased,
        delayed=stat.delayed,
        paused_asks=stat.paused,
        paused=paused,
        workers=workers,
        backlog=stat.runnable + stat.leased,
        oldest_age=round(stat.oldest_age, 3),
    )
