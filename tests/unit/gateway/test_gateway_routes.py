"""The checks of every route before the API is served."""

from __future__ import annotations

import pytest
from fastapi import APIRouter

from turnwise_gateway.access.scopes import check_declared
from turnwise_gateway.gateway import check_keys_taken


def test_a_route_that_says_nothing_of_itself_is_found_before_it_is_served() -> None:
    router = APIRouter(prefix="/v1/forgotten")

    @router.post("")
    def forgotten() -> None:
        """Neither a scope nor an idempotency key."""

    with pytest.raises(AssertionError, match="which scope"):
        check_declared(router.routes)
    with pytest.raises(AssertionError, match="its record"):
        check_keys_taken(router.routes)
