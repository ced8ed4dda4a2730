"""A router whose routes the application takes as they are.

FastAPI makes the routes of an included router once more, at the first request of each application. So what holds for
all routes is said where a router is made.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends

from turnwise_gateway.http.query_check import known_query


def api_router(tag: str, prefix: str = "", *, any_query: bool = False) -> APIRouter:
    """Make a router for operations that are named as their functions, under one tag of the description.

    They refuse query parameters that they do not have. With `any_query` they do not: probes take any, and OpenAI's
    clients send parameters that we do not know.
    """
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        dependencies=[] if any_query else [Depends(known_query)],
        generate_unique_id_function=lambda route: route.name,
    )
