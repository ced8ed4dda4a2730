"""The checks of every route before the API is served."""

from __future__ import annotations

import inspect

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from turnwise_gateway.access.scopes import check_declared
from turnwise_gateway.gateway import check_keys_taken
from turnwise_gateway.routes import runs


def test_a_route_that_says_nothing_of_itself_is_found_before_it_is_served() -> None:
    router = APIRouter(prefix="/v1/forgotten")

    @router.post("")
    def forgotten() -> None:
        """Neither a scope nor an idempotency key."""

    with pytest.raises(AssertionError, match="which scope"):
        check_declared(router.routes)
    with pytest.raises(AssertionError, match="its record"):
        check_keys_taken(router.routes)


def test_a_submission_takes_no_thread_but_the_one_that_writes_it() -> None:
    (route,) = [one for one in runs.router.routes if isinstance(one, APIRoute) and one.name == "submit"]
    waiting = [route.dependant]

    while waiting:
        one = waiting.pop()
        waiting += one.dependencies
        called = one.call if inspect.isroutine(one.call) else getattr(one.call, "__call__", None)  # noqa: B004
        # FastAPI runs a plain function on a thread.
        assert inspect.iscoroutinefunction(called), f"{one.call} is not async"
