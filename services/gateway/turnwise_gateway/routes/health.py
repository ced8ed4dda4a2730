"""Probes and metrics; open to all."""

from __future__ import annotations

from fastapi import Request, Response

from turnwise.api.fleet import HealthView
from turnwise.processes.metrics import exposition
from turnwise_gateway.gateway import OpenToAll
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router

router = api_router("operation", any_query=True)


@router.head("/health/live", include_in_schema=False)
@router.get("/health/live", responses=problems(500))
async def live() -> HealthView:
    """The process answers."""
    return HealthView()


@router.head("/health/ready", include_in_schema=False)
@router.get("/health/ready", responses=problems(503))
def ready(gateway: OpenToAll) -> HealthView:
    """It can take runs: the database answers and has the right schema. The broker is not needed to keep a run."""
    gateway.check_schema()
    return HealthView()


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}, **problems(500)},
)
def metrics(request: Request, gateway: OpenToAll) -> Response:
    """Return what Prometheus scrapes."""
    body, kind = exposition(gateway.metrics.registry, request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": kind})
