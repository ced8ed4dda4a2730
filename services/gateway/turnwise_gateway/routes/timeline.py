"""The timeline of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from turnwise.api.timeline import TimelineView
from turnwise.timeline.run_timeline import timeline
from turnwise_gateway.access.scopes import READS
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import ExistingRun

router = api_router("runs", "/v1/runs/{run_id}")


@router.get("/timeline", dependencies=[READS], responses=problems(404, 422, 503))
def show_timeline(
    run: ExistingRun,
    gateway: Here,
    after: Annotated[int, Query(ge=-1, lt=2**31, description="The `next_after` of the page before.")] = -1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> TimelineView:
    """Return where the time of the run went: a sentence and the sums of the whole run, its slowest asks, and a page
    of its items, each divided into spans that neither overlap nor leave a gap.

    Of what an older version recorded, some spans are `unknown`.
    """
    return timeline(gateway.record, run, after=after, limit=limit)
