"""Pauses: an operator stops the work of a queue, a task or a tenant, and lets it continue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import Body

from turnwise.api.fleet import PauseView
from turnwise.api.pages import Page
from turnwise.base.times import when
from turnwise.bus.routing import work_queues
from turnwise.errors import NotFoundError
from turnwise.record.asks.pauses import PauseKind, PauseRecord
from turnwise.record.tenants.tenant import is_tenant
from turnwise.serving.moves.pausing import tell_let_go
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES
from turnwise_gateway.bodies import PauseRequest
from turnwise_gateway.gateway import Administered, Operated, Operation, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router

router = api_router("fleet", "/v1/pauses")

_NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@router.get("", dependencies=[ADMINISTERS], responses=problems(503))
def list_pauses(gateway: Administered) -> Page[PauseView]:
    """List what is paused. Operators see all; other administrators see queues, tasks and their own tenant."""
    return Page(items=[_view(pause) for pause in gateway.record.pauses()])


@router.put(
    "/{kind}/{name:path}", dependencies=[ADMINISTERS, OPERATES], responses=problems(400, 404, 413, 415, 422, 503)
)
def set_pause(
    kind: PauseKind,
    name: str,
    gateway: Operated,
    caller: Who,
    body: Annotated[PauseRequest, Body()] = PauseRequest(),  # noqa: B008
) -> PauseView:
    """Pause a queue, a task or a tenant, for all processes at once. Repeated, it changes the reason.

    Asks that are leased are answered. Runs are still accepted, cancelled, and ended by their deadlines.
    """
    _require_known(gateway, kind, name)
    return _view(gateway.record.pause(kind, name, body.reason, caller.name))


@router.delete("/{kind}/{name:path}", dependencies=[ADMINISTERS, OPERATES], responses=problems(404, 422, 503))
def end_pause(kind: PauseKind, name: str, gateway: Operated) -> PauseView:
    """End a pause: the held work continues at once. Returns the pause as it was."""
    if not _NAME.fullmatch(name):
        raise NotFoundError(f"there is no {kind} {name!r}")
    ended = gateway.record.resume(kind, name)
    tell_let_go(gateway.record, gateway.dispatcher)
    return _view(ended)


def _require_known(gateway: Operation, kind: PauseKind, name: str) -> None:
    """Raise `NotFoundError` for a name that is nowhere, because it is a mistake more often than foresight."""
    if not _NAME.fullmatch(name):
        raise NotFoundError(f"there is no {kind} {name!r}")
    if kind == "tenant":
        if not is_tenant(name):
            raise NotFoundError(f"there is no tenant {name!r}: its name is not valid")
        return
    known: Sequence[str]
    if kind == "task":
        known = gateway.app.tasks
        used = gateway.record.has_unfinished(name)  # of another version of the application
    else:
        settings = gateway.settings
        known = work_queues(settings.llm_queues, settings.agent_queues)
        used = gateway.record.has_asks(name)
    if name not in known and not used:
        raise NotFoundError(f"there is no {kind} {name!r}; there are: {', '.join(known) or 'none'}")


def _view(pause: PauseRecord) -> PauseView:
    return PauseView(
        kind=pause.kind, name=pause.name, since=when(pause.since), paused_by=pause.paused_by, reason=pause.reason
    )
