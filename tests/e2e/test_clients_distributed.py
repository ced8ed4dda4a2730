"""Clients of other languages and protocols, and an installation whose gateway, coordinator and worker are processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.e2e.installation import ONE_WORKER, Distributed, distributed_on
from tests.support import typescript_client
from tests.support.brokers import fresh_redis
from tests.support.mcp_clients import Person, over_stdio, text
from tests.support.services import require

pytestmark = [pytest.mark.postgres, pytest.mark.redis]
KEY = "the-key-of-the-desk"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributed]:
    folder, app = tmp_path_factory.mktemp("desk"), "tests.support.mcp_desk:app"
    with distributed_on(fresh_redis, folder, app, roles=ONE_WORKER, auth="token", auth_token=KEY) as installation:
        yield installation


def test_a_task_is_called_as_a_tool(desk: Distributed, tmp_path_factory: pytest.TempPathFactory) -> None:
    person, steps = Person("yes"), []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async def use() -> str:
        folder = tmp_path_factory.mktemp("client")
        async with over_stdio("--url", desk.url, mode="auto", folder=folder, key=KEY, person=person) as client:
            result = await client.call_tool("trip", {"message": "A trip to Lyon"}, progress_callback=tell)
        return text(result)

    assert asyncio.run(use()) == "It is booked."
    assert person.asked == ["Shall I book Lyon?"]
    assert steps == ["Planner: LLM answered", "Planner: User answered", "Planner: LLM answered"]


def test_the_typescript_client_works(desk: Distributed) -> None:
    require(typescript_client.missing() is None, str(typescript_client.missing()))

    assert typescript_client.tried(desk.url, KEY) == {
        "pass": typescript_client.written(),
        "fail": 0,
        "skipped": 0,
    }
