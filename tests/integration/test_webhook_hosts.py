"""A gateway whose callers name webhooks with hosts that are looked up slowly, or are not found any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.databases import fresh_sqlite
from tests.support.gateway_parts import make_app

from turnwise.bus.in_process import InProcessBus
from turnwise.processes.settings import load_settings
from turnwise.record.store import Store
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise_gateway.api import create_api

SECRET = "whsec_" + "QUFB" * 8


class NameServer:
    """Finds every host while it `answers`, after it was released where it is slow."""

    def __init__(self) -> None:
        self.answers = True
        self.released = threading.Event()
        self.released.set()

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.released.wait(30)
        if not self.answers:
            raise OSError("Temporary failure in name resolution")
        return ["1.1.1.1"]


class Here:
    """A gateway of this process, and the name server that it asks."""

    def __init__(self, directory: Path) -> None:
        self.names = NameServer()
        self._bus = InProcessBus()
        self._database = fresh_sqlite(directory / "record.db")
        self._api = create_api(
            Store(self._database), self._bus, make_app(), load_settings(moves="coordinator", auth="none")
        )
        rules = AddressRules(resolve=self.names)
        self._api.state.gateway = replace(self._api.state.gateway, webhook_rules=rules)

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self._api), base_url="http://localhost")

    def close(self) -> None:
        self.names.released.set()
        self._bus.close()
        self._database.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    made = Here(tmp_path)
    yield made
    made.close()


def _submission(host: str, **changes: Any) -> dict[str, Any]:
    return {"task": "desk", "message": "hello", "webhook": {"url": f"https://{host}/hook", "secret": SECRET}} | changes


def test_a_submission_that_is_repeated_gives_its_run_although_the_host_is_not_found_any_more(here: Here) -> None:
    async def submit(key: str, **changes: Any) -> httpx2.Response:
        async with here.client() as client:
            body = _submission("hooks.example", **changes)
            return await client.post("/v1/runs", json=body, headers={"Idempotency-Key": key})

    first = asyncio.run(submit("mine"))
    here.names.answers = False
    again, other, new = asyncio.run(submit("mine")), asyncio.run(submit("mine", tags=["x"])), asyncio.run(submit("new"))

    assert (first.status_code, again.status_code) == (202, 202), again.text
    assert again.json()["id"] == first.json()["id"]
    assert (first.json()["webhook"]["secret"], again.json()["webhook"]) == (SECRET, None)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert (new.status_code, new.json()["code"]) == (422, "invalid_webhook")


def test_a_slow_name_server_keeps_no_other_request_waiting(here: Here) -> None:
    async def all_at_once() -> list[int]:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(here.client())
            hook = (await client.post("/v1/webhooks", json={"url": "https://hooks.example/"})).json()["id"]
            here.names.released.clear()
            waiting = [
                asyncio.create_task(client.request(method, path, json=body))
                for n in range(20)
                for method, path, body in (
                    ("POST", "/v1/webhooks", {"url": f"https://a{n}.example/"}),
                    ("PATCH", f"/v1/webhooks/{hook}", {"url": f"https://b{n}.example/"}),
                    ("POST", "/v1/runs", _submission(f"c{n}.example")),
                    ("POST", "/v1/batches", {"runs": [_submission(f"d{n}.example")]}),
                )
            ]
            stack.callback(here.names.released.set)
            await asyncio.sleep(0.5)
            async with asyncio.timeout(3):
                assert (await client.get("/health/ready")).status_code == 200
                assert (await client.get("/v1/runs")).json()["items"] == []
            here.names.released.set()
            return [one.status_code for one in await asyncio.gather(*waiting)]

    statuses = asyncio.run(all_at_once())

    assert statuses == [201, 200, 202, 202] * 20
