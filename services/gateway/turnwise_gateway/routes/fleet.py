"""The application's tasks, the workers, and how much waits for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from turnwise.api.catalogue import TaskDetail
from turnwise.api.fleet import QueueView, TaskView, WorkerView
from turnwise.api.pages import Page
from turnwise.api.providers import ProviderLimitsView, ProviderUseView, ProviderView
from turnwise.base.times import when
from turnwise.bus.routing import work_queues
from turnwise.errors import NotFoundError
from turnwise.record.asks.worker_records import QueueStat, empty_queue
from turnwise.record.budgets.provider_states import ProviderState
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES, READS, require_operator
from turnwise_gateway.catalogue import task_detail, task_view
from turnwise_gateway.gateway import Administered, Here, Operated, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router

router = api_router("fleet", "/v1")


Fleet = Annotated[bool, Query(description="With the asks of all tenants. For operators.")]


@router.get("/tasks", dependencies=[READS], responses=problems(503))
def list_tasks(gateway: Here) -> Page[TaskView]:
    """Return what runs can be made of."""
    return Page(items=[task_view(gateway.app, name) for name in gateway.app.tasks])


@router.get("/tasks/{name:path}", dependencies=[READS], responses=problems(404, 503))
def show_task(name: str, gateway: Here) -> TaskDetail:
    """Return a task with its sub-tasks, its agents and models, their tools with schemas and effects, and limits."""
    if name not in gateway.app.tasks:
        raise NotFoundError(f"there is no task {name!r}; list the tasks to see which there are")
    return task_detail(gateway.app, name, gateway.settings)


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


@router.get("/queues", dependencies=[READS], responses=problems(403, 422, 503))
def list_queues(gateway: Here, administration: Administered, caller: Who, fleet: Fleet = False) -> Page[QueueView]:
    """The queues of the installation, and others that hold asks; of the asks those of the caller's tenant."""
    record, settings = gateway.record, gateway.settings
    if fleet:
        require_operator(caller, settings)
    stats = {stat.queue: stat for stat in (administration.record if fleet else record).queue_stats()}
    serving, paused = record.serving_workers(), record.paused_queues()
    known = work_queues(settings.llm_queues, settings.agent_queues)
    return Page(
        items=[
            _queue(stats.get(name) or empty_queue(name), serving[name], name in paused)
            for name in dict.fromkeys((*known, *stats))
        ]
    )


@router.get("/providers", dependencies=[READS], responses=problems(403, 422, 503))
def list_providers(
    gateway: Here,
    administration: Administered,
    caller: Who,
    fleet: Fleet = False,
) -> Page[ProviderView]:
    """Return the providers that have limits, do not answer, or are waited for, and who waits for them."""
    if fleet:
        require_operator(caller, gateway.settings)
    states = (administration.record if fleet else gateway.record).provider_states()
    return Page(items=[_provider(state, fleet=fleet) for state in states])


def _provider(state: ProviderState, *, fleet: bool) -> ProviderView:
    return ProviderView(
        model=state.model,
        server=state.server,
        account=state.account if fleet else None,
        limits=ProviderLimitsView(
            requests=state.caps.requests,
            tokens=state.caps.tokens,
            concurrency=state.caps.concurrency,
            window=state.caps.window,
        ),
        used=ProviderUseView(requests=state.used_requests, tokens=state.used_tokens, concurrency=state.under_way),
        closed_until=None if state.closed_until is None else when(state.closed_until),
        closed_for=state.closed_for,
        waiting=state.waiting.total(),
        oldest_age=round(state.oldest_age, 3),
        runs=[] if fleet else list(state.runs),
        tenants=dict(state.waiting.most_common()) if fleet else {},
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
