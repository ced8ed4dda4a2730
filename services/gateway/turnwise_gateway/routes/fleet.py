"""The application's tasks, the workers, and how much waits for them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from turnwise.app import App
from turnwise.bus.routing import COORDINATOR_QUEUE, all_queues
from turnwise.record.runs.records import QueueStat, empty_queue
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES, READS
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.views import Page, when

router = APIRouter(prefix="/v1", tags=["fleet"])


class TaskView(BaseModel):
    """A task that runs can be made of, with the paths of all tasks in its tree."""

    name: str
    application: str
    version: str
    paths: list[str]
    keeps_conversation: bool = Field(description="Whether a run of a session goes on with the one before it.")


class WorkerView(BaseModel):
    """A process that takes work; `state` is alive, deaf (alive, but the broker brings it nothing), draining (told to
    end, it claims nothing more), dead (it fell silent), or what it was retired with."""

    id: str
    kind: str
    queues: list[str]
    host: str
    pid: int
    version: str
    state: str
    started_at: datetime
    beat_at: datetime
    leased: int = Field(description="Asks that it has claimed and not answered yet.")


class QueueView(BaseModel):
    """A queue's asks, and who serves it; `backlog` is what its workers are to be scaled by."""

    queue: str
    runnable: int
    leased: int
    delayed: int
    paused_asks: int = Field(description="Held by a pause of the queue, of a task or of a tenant; no backlog.")
    paused: bool = Field(description="Whether the queue itself is paused.")
    workers: int = Field(description="Living processes that serve it, but for those that are told to end.")
    backlog: int = Field(description="Runnable and leased.")
    oldest_age: float = Field(description="Seconds that the oldest runnable ask has waited.")


@router.get("/tasks", dependencies=[READS], responses=problems(503))
def list_tasks(gateway: Here) -> Page[TaskView]:
    """What runs can be made of."""
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
def list_workers(gateway: Here) -> Page[WorkerView]:
    """Worker processes, newest first."""
    leased = gateway.store.leased_by_worker()
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
            for worker in gateway.store.workers()
        ]
    )


@router.get("/queues", dependencies=[READS], responses=problems(503))
def list_queues(gateway: Here) -> Page[QueueView]:
    """The queues of the installation, and others that hold asks; of the asks those of the caller's tenant."""
    store, settings = gateway.store, gateway.settings
    stats = {stat.queue: stat for stat in store.queue_stats()}
    serving = Counter(queue for worker in store.workers("alive") if worker.serves for queue in worker.queues)
    paused = {pause.name for pause in store.pauses() if pause.kind == "queue"}
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
