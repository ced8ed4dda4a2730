"""Refusal of query parameters that a route does not have: a filter with a typing error would select everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute


async def known_query(request: Request) -> None:
    """Raise `RequestValidationError` for a parameter that the route does not have, and for one that comes twice."""
    if not request.query_params:
        return
    route: APIRoute = request.scope["route"]
    known = set(_parameters(route.dependant))
    there_are = f"but {', '.join(sorted(known))}" if known else "and no other"
    faults = {}
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            faults[name] = f"there is no such parameter here, {there_are}"
        elif times > 1:  # no route takes a list
            faults[name] = f"this is given {times} times, and is taken once"
    if faults:
        raise RequestValidationError(
            [{"type": "parameter", "loc": ("query", name), "msg": told, "input": name} for name, told in faults.items()]
        )


def _parameters(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _parameters(inner)
