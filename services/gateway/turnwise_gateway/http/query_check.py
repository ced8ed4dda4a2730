"""Refusal of query parameters that a route does not have: a filter with a typing error would select everything."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute


async def known_query(request: Request) -> None:
    """Raise `RequestValidationError` for a parameter that the route, which has some, does not have."""
    if not request.query_params:
        return
    route: APIRoute = request.scope["route"]
    known = set(_parameters(route.dependant))
    unknown = [name for name in request.query_params if name not in known]
    if known and unknown:
        message = f"there is no such parameter here, but {', '.join(sorted(known))}"
        raise RequestValidationError(
            [{"type": "unknown_parameter", "loc": ("query", name), "msg": message, "input": name} for name in unknown]
        )


def _parameters(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _parameters(inner)
