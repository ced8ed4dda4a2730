"""Tasks, workers, queues and pauses, and the gateway's own state."""

from __future__ import annotations

from datetime import datetime

from turnwise.api.catalogue import TaskDetail
from turnwise.api.fleet import HealthView, PauseKind, PauseView, QueueView, TaskView, WorkerView
from turnwise.api.pages import Page
from turnwise.api.providers import ProviderView
from turnwise.api.series import SeriesView
from turnwise.base.json_value import given
from turnwise.client.request import Request, items, model, moment, path_of, text


def tasks() -> Request[list[TaskView]]:
    """Return the tasks of the application, of which runs can be made."""
    return Request(method="GET", path=path_of("tasks"), read=items(Page[TaskView]))


def task(name: str) -> Request[TaskDetail]:
    """Return a task with its sub-tasks, its agents and models, and their tools with schemas and effects."""
    return Request(method="GET", path=path_of("tasks", name), read=model(TaskDetail))


def workers() -> Request[list[WorkerView]]:
    """Return the worker processes that serve the application, newest first."""
    return Request(method="GET", path=path_of("workers"), read=items(Page[WorkerView]))


def queues(*, fleet: bool = False) -> Request[list[QueueView]]:
    """Return the queues that hold asks for responders: how many each holds, how long the oldest has waited.

    The asks are those of the caller's tenant, or for operators with `fleet` those of all.
    """
    params = given(fleet="true" if fleet else None)
    return Request(method="GET", path=path_of("queues"), read=items(Page[QueueView]), params=params)


def providers(*, fleet: bool = False) -> Request[list[ProviderView]]:
    """Return the providers that have limits, do not answer, or are waited for; operators may see the whole `fleet`."""
    params = given(fleet="true" if fleet else None)
    return Request(method="GET", path=path_of("providers"), read=items(Page[ProviderView]), params=params)


def series(
    *,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    step: int | None = None,
    tenant: str | None = None,
    fleet: bool = False,
) -> Request[SeriesView]:
    """Return turns, tokens, cost, failures, waiting, backlog and work in flight over time; by default the last hour.

    `step` is in seconds; times are as those of `runs`. Operators may name another `tenant`, or ask for the whole
    `fleet`.
    """
    params = given(since=moment(since), until=moment(until), step=step, tenant=tenant, fleet="true" if fleet else None)
    return Request(method="GET", path=path_of("series"), read=model(SeriesView), params=params)


def pauses() -> Request[list[PauseView]]:
    """Return the queues, tasks and tenants that are paused."""
    return Request(method="GET", path=path_of("pauses"), read=items(Page[PauseView]))


def pause(kind: PauseKind, name: str, reason: str | None = None) -> Request[PauseView]:
    """Pause a "queue", a "task" or a "tenant": nothing of it is begun or claimed until `resume`. For operators."""
    return Request(method="PUT", path=path_of("pauses", kind, name), read=model(PauseView), body=given(reason=reason))


def resume(kind: PauseKind, name: str) -> Request[PauseView]:
    """End a pause, and return it as it was; `NotFoundError` if there is none. For operators."""
    return Request(method="DELETE", path=path_of("pauses", kind, name), read=model(PauseView))


def live() -> Request[HealthView]:
    """Return at once if the gateway's process answers."""
    return Request(method="GET", path="/health/live", read=model(HealthView))


def ready() -> Request[HealthView]:
    """Return if the gateway can take runs; raises the error that says why it cannot."""
    return Request(method="GET", path="/health/ready", read=model(HealthView))


def metrics() -> Request[str]:
    """Return the gateway's metrics in the text format of Prometheus."""
    return Request(method="GET", path="/metrics", read=text)
