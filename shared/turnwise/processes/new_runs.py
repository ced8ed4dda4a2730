"""New runs within the limits of the settings, and those of schedules, whoever submits them."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any, TypedDict

from turnwise.app import App
from turnwise.base.ids import new_id
from turnwise.errors import InvalidRequestError, UnknownTaskError
from turnwise.messages.wire import encode_document
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.processes.settings import ServiceSettings
from turnwise.record.schedules.schedule import TAG, ScheduleRecord
from turnwise.record.values.records import NewRun
from turnwise.schedules.declared import ORIGIN
from turnwise.schedules.timing import shown
from turnwise.tasks.entry import document_of


class LimitsOfRun(TypedDict):
    """The limits of a new run, as `NewRun` has them."""

    max_cost: Decimal | None
    max_tokens: int | None
    turns: int | None
    on_limit: str | None
    max_turns: int | None
    deadline: float | None
    can_wait: float | None


def limits_of_run(
    settings: ServiceSettings,
    *,
    max_cost: Decimal | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    on_limit: str | None = None,
    deadline: float | None = None,
    can_wait: float | None = None,
) -> LimitsOfRun:
    """The limits that a run is given, with those of the settings for what it is not given."""
    return {
        "max_cost": settings.max_cost if max_cost is None else max_cost,
        "max_tokens": settings.max_tokens if max_tokens is None else max_tokens,
        "turns": turns,
        "on_limit": on_limit,
        "max_turns": settings.max_turns,
        "deadline": settings.run_deadline if deadline is None else deadline,
        "can_wait": can_wait,
    }


def chosen_version(settings: ServiceSettings, app: App, wanted: str | None) -> str:
    """The version of the application that a new run is for; raises `InvalidRequestError` for one that cannot be."""
    if wanted not in (None, app.version) and not settings.pinned:
        raise InvalidRequestError(
            f"the run is for version {wanted!r}, but this server has version {app.version!r} and "
            "TURNWISE_VERSION_POLICY is adopt, so that any process may take any run; leave the version out"
        )
    return wanted or app.version


def version_of_run(settings: ServiceSettings, app: App, wanted: str | None, task: str) -> str:
    """`chosen_version`; raises `UnknownTaskError` for a task that it does not have, where that is known."""
    version = chosen_version(settings, app, wanted)
    if version == app.version and task not in app.tasks:
        known = ", ".join(app.tasks) or "none"
        raise UnknownTaskError(f"application {app.name!r} has no task {task!r}; it has: {known}")
    return version


def run_of_tick(settings: ServiceSettings, app: App, schedule: ScheduleRecord, due: float) -> NewRun:
    """The run of a schedule's tick that is due then. Raises as `version_of_run`."""
    terms = schedule.run
    limits: dict[str, Any] = dict(terms.get("limits") or {})
    if limits.get("max_cost") is not None:
        limits["max_cost"] = Decimal(limits["max_cost"])
    origin = {"id": schedule.id, "name": schedule.name, "due_at": shown(due)}
    body = json.dumps([schedule.id, due, schedule.task, terms], sort_keys=True)
    # Where runs are pinned, a schedule that code declares is for the version of that code.
    declared = schedule.version if settings.pinned else None
    return NewRun(
        id=new_id("run"),
        task=schedule.task,
        version=version_of_run(settings, app, terms.get("version") or declared, schedule.task),
        # Tainted as a message over HTTP is: a human may have typed it.
        message=encode_document(document_of(terms["message"])),
        priority=terms.get("priority", 0),
        tags=(*terms.get("tags", ()), f"{TAG}{schedule.name}"),
        metadata={**terms.get("metadata", {}), ORIGIN: origin},
        session_id=terms.get("session_id"),
        **limits_of_run(settings, **limits),
        idempotency_key=schedule.key_of(due),
        body_hash=hashlib.sha256(body.encode()).hexdigest(),
        traceparent=current_traceparent(),
    )
