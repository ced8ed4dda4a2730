"""The work of a tenant, or of the installation, over time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query

from turnwise.api.series import SeriesPoint, SeriesView
from turnwise.base.money import decimal_string
from turnwise.base.times import rfc3339, when
from turnwise.errors import InvalidRequestError
from turnwise.record.tenants.tenant import TENANT_ID
from turnwise.record.upkeep.series import SeriesStep
from turnwise.schedules.timing import LAST_YEAR, LATEST
from turnwise_gateway.access.scopes import READS
from turnwise_gateway.gateway import Administered, Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import seconds_of

router = api_router("fleet", "/v1/series")

_HOUR = 3_600
# Points of an answer, and of one whose step was left out.
_MOST_POINTS = 2_000
_USUAL_POINTS = 240
# Steps that a reader can count in, in seconds.
_STEPS = (10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400)


@router.get("", dependencies=[READS], responses=problems(403, 422, 503))
def show_series(
    gateway: Here,
    administration: Administered,
    caller: Who,
    since: Annotated[datetime | None, Query(description="An hour before `until`, if left out.")] = None,
    until: Annotated[datetime | None, Query(description="Now, if left out.")] = None,
    step: Annotated[int | None, Query(ge=1, le=86_400, description="Seconds; about 240 points, if left out.")] = None,
    tenant: Annotated[
        str | None, Query(pattern=TENANT_ID, description="For operators; the caller's own if left out.")
    ] = None,
    fleet: Annotated[bool, Query(description="Of all tenants together. For operators.")] = False,
) -> SeriesView:
    """Return turns, tokens, cost, failures, waiting, backlog and work in flight over time, from samples."""
    if fleet and tenant is not None:
        raise InvalidRequestError("both fleet and tenant are given; leave one out")
    end = seconds_of(until, "until") or gateway.record.now()
    if end >= LATEST:
        raise InvalidRequestError(f"until is {rfc3339(end)}; expected a time up to the year {LAST_YEAR}")
    start = end - _HOUR if since is None else seconds_of(since, "since") or 0.0
    chosen = max(step or _step_for(end - start), gateway.settings.sample_seconds, 1)
    first = int(start // chosen) * chosen
    last = -int(-end // chosen) * chosen
    if first < 0 or last <= first:
        raise InvalidRequestError("since must be before until (default: now), and not before 1970")
    if (points := (last - first) // chosen) > _MOST_POINTS:
        raise InvalidRequestError(
            f"from since to until there are {points} steps of {chosen} s, and an answer has at most {_MOST_POINTS}; "
            "choose a longer step or a shorter time"
        )
    if fleet or tenant not in (None, caller.tenant):
        steps = administration.record.series_of(None if fleet else tenant, first, last, chosen)
    else:
        steps = gateway.record.series(first, last, chosen)
    return SeriesView(
        tenant=None if fleet else tenant or caller.tenant,
        since=when(first),
        until=when(last),
        step=chosen,
        points=[_point(one) for one in steps],
    )


def _step_for(seconds: float) -> int:
    return next((step for step in _STEPS if seconds / step <= _USUAL_POINTS), _STEPS[-1])


def _point(step: SeriesStep) -> SeriesPoint:
    numbers = {name: getattr(step, name) for name in SeriesPoint.model_fields if name not in ("at", "seconds", "cost")}
    return SeriesPoint(at=when(step.at), seconds=round(step.seconds, 3), cost=decimal_string(step.cost), **numbers)
