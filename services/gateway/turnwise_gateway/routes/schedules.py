"""Schedules: made, changed, paused, triggered and looked at by their tenant."""

from __future__ import annotations

import re
import time
from typing import Annotated

from fastapi import Body, Query, Request, Response

from turnwise.api.pages import Page
from turnwise.api.runs import RunView
from turnwise.api.schedules import ScheduleView, TickView
from turnwise.errors import InvalidRequestError
from turnwise.processes.new_runs import run_of_tick, version_of_run
from turnwise.record.schedules.schedule import ScheduleRecord, ScheduleTerms, TickOutcome
from turnwise.record.schedules.schedules import unknown_schedule
from turnwise.record.values.records import NewRun
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.http.root_path import public
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import Limit
from turnwise_gateway.schedule_bodies import NewScheduleBody, ScheduleChange, SchedulePauseRequest
from turnwise_gateway.schedule_views import schedule_view, tick_view
from turnwise_gateway.views import fresh, run_view

router = api_router("schedules", "/v1/schedules")

_MOST_SHOWN = 100
_REF = re.compile(r"[A-Za-z0-9_.-]{1,80}")
Ahead = Annotated[int, Query(alias="next", ge=0, le=_MOST_SHOWN, description="How many next ticks are shown.")]
AfterName = Annotated[
    str | None, Query(max_length=100, pattern=r"^[A-Za-z0-9._-]+$", description="`next_cursor` of the page before.")
]
AfterTick = Annotated[
    str | None, Query(max_length=40, pattern=r"^[0-9.e+-]+$", description="`next_cursor` of the page before.")
]


@router.post("", status_code=201, dependencies=[WRITES], responses=problems(400, 409, 413, 415, 422, 503))
def create_schedule(body: NewScheduleBody, gateway: Here, caller: Who, response: Response) -> ScheduleView:
    """Keep a schedule: at each tick, a run of its task is submitted, as `POST /v1/runs` does it.

    409 `schedule_exists` for a name that the tenant has, 422 `invalid_schedule` for times that cannot be.
    """
    terms = body.terms()
    _require_task(gateway, terms)
    made = gateway.record.schedules.create_schedule(body.name, terms, caller.name)
    response.headers["Location"] = public(f"/v1/schedules/{made.id}")
    return schedule_view(made, None)


@router.get("", dependencies=[READS], responses=problems(422, 503))
def list_schedules(gateway: Here, cursor: AfterName = None, limit: Limit = 100, ahead: Ahead = 3) -> Page[ScheduleView]:
    """Schedules by name, each with its last tick and its next ones."""
    found = gateway.record.schedules.schedules(cursor, limit + 1)
    last = gateway.record.schedules.last_ticks([one.id for one in found[:limit]])
    return Page(
        items=[schedule_view(one, last.get(one.id), ahead) for one in found[:limit]],
        next_cursor=found[limit - 1].name if len(found) > limit else None,
    )


@router.get("/{schedule}", dependencies=[READS], responses=problems(404, 422, 503))
def show_schedule(schedule: str, gateway: Here, ahead: Ahead = 5) -> ScheduleView:
    """A schedule, by its id or name."""
    return _with_last(gateway, gateway.record.schedules.schedule(_ref(schedule)), ahead)


@router.patch("/{schedule}", dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def change_schedule(schedule: str, body: ScheduleChange, gateway: Here) -> ScheduleView:
    """Change a schedule. With other times it begins anew: it catches up on nothing.

    409 `declared_in_code` for one that the code of the application declares.
    """
    if not body.model_fields_set:
        raise InvalidRequestError("nothing is given that is to be changed; send at least one field")

    def change(found: ScheduleRecord) -> ScheduleTerms:
        terms = body.terms_of(found)
        _require_task(gateway, terms)
        return terms

    return _with_last(gateway, gateway.record.schedules.change_schedule(_ref(schedule), change))


@router.delete("/{schedule}", dependencies=[WRITES], responses=problems(404, 409, 422, 503))
def remove_schedule(schedule: str, gateway: Here) -> ScheduleView:
    """Delete a schedule with its ticks; its runs stay. Returns it as it was."""
    return schedule_view(gateway.record.schedules.remove_schedule(_ref(schedule)), None, 0)


@router.post("/{schedule}/pause", dependencies=[WRITES], responses=problems(400, 404, 413, 415, 422, 503))
def pause_schedule(
    schedule: str,
    gateway: Here,
    caller: Who,
    body: Annotated[SchedulePauseRequest, Body()] = SchedulePauseRequest(),  # noqa: B008
) -> ScheduleView:
    """Let no tick happen until it is resumed. Repeated, it changes the note."""
    return _with_last(gateway, gateway.record.schedules.pause_schedule(_ref(schedule), body.note, caller.name))


@router.post("/{schedule}/resume", dependencies=[WRITES], responses=problems(404, 409, 422, 503))
def resume_schedule(schedule: str, gateway: Here) -> ScheduleView:
    """End a pause. Ticks that were due meanwhile do not happen."""
    return _with_last(gateway, gateway.record.schedules.resume_schedule(_ref(schedule)))


@router.post("/{schedule}/trigger", status_code=202, dependencies=[WRITES], responses=problems(404, 409, 422, 429, 503))
def trigger_schedule(schedule: str, gateway: Here, caller: Who, request: Request, response: Response) -> RunView:
    """Submit a run of the schedule now, also while it is paused; its next tick stays. Returns the run."""

    def make_run(found: ScheduleRecord, at: float) -> NewRun:
        return run_of_tick(gateway.settings, gateway.app, found, at)

    _, run = gateway.record.schedules.trigger_schedule(_ref(schedule), make_run, caller.name)
    gateway.observers.run_accepted(run, time.monotonic() - request.scope[ARRIVED])
    gateway.dispatcher.wake(run)
    response.headers["Location"] = public(f"/v1/runs/{run.id}")
    return run_view(fresh(run))


@router.get("/{schedule}/ticks", dependencies=[READS], responses=problems(404, 422, 503))
def list_ticks(
    schedule: str,
    gateway: Here,
    outcome: Annotated[TickOutcome | None, Query()] = None,
    cursor: AfterTick = None,
    limit: Limit = 50,
) -> Page[TickView]:
    """Ticks of a schedule, newest first, with their runs; the last thousand are kept."""
    before = _number(cursor)
    found = gateway.record.schedules.ticks(
        gateway.record.schedules.schedule(_ref(schedule)).id, outcome=outcome, before=before, limit=limit + 1
    )
    return Page(
        items=[tick_view(one) for one in found[:limit]],
        next_cursor=repr(found[limit - 1].due_at) if len(found) > limit else None,
    )


def _ref(schedule: str) -> str:
    """The id or name, if it can be one."""
    if not _REF.fullmatch(schedule):
        raise unknown_schedule(schedule)
    return schedule


def _number(cursor: str | None) -> float | None:
    try:
        return None if cursor is None else float(cursor)
    except ValueError:
        raise InvalidRequestError("invalid cursor: it was not issued by this server") from None


def _require_task(gateway: Gateway, terms: ScheduleTerms) -> None:
    """Raise `UnknownTaskError` or `InvalidRequestError` for what no tick could submit."""
    version_of_run(gateway.settings, gateway.app, terms.run.get("version"), terms.task)


def _with_last(gateway: Gateway, found: ScheduleRecord, ahead: int = 5) -> ScheduleView:
    return schedule_view(found, gateway.record.schedules.last_ticks([found.id]).get(found.id), ahead)
