"""The application's tasks, the workers, and how much waits for them."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from turnwise.app import App
from turnwise_gateway.gateway import Here
from turnwise_gateway.problem import problems
from turnwise_gateway.scopes import ADMINISTERS, OPERATES, READS
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
    """A process that takes work; `state` is alive, deaf (alive, but the broker brings it nothing), dead (it fell
    silent), or what it was retired with."""

    id: str
    kind: str
    queues: list[str]
    host: str
    pid: int
    version: str
    state: str
    started_at: datetime
    beat_at: datetime


class QueueView(BaseModel):
    """A queue's asks; `backlog` is what its workers are to be scaled by."""

    queue: str
    runnable: int
    leased: int
    delayed: int
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
            )
            for worker in gateway.store.workers()
        ]
    )


@router.get("/queues", dependencies=[READS], responses=problems(503))
def list_queues(gateway: Here) -> Page[QueueView]:
    """Queues that hold asks."""
    return Page(
        items=[
            QueueView(
                queue=stat.queue,
                runnable=stat.runnable,
                leased=stat.leased,
                delayed=stat.delayed,
                backlog=stat.runnable + stat.leased,
                oldest_age=round(stat.oldest_age, 3),
            )
            for stat in gateway.store.queue_stats()
        ]
    )
