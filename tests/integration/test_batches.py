"""Many runs submitted by one request, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.either_database import database, postgres_url
from tests.support.gateway_parts import Served, served

from turnwise.bus.in_process import InProcessBus
from turnwise.client import AsyncClient, Client
from turnwise.errors import BrokerUnavailableError
from turnwise.record.database.database import Database

__all__ = ["database", "postgres_url"]


@pytest.fixture
def gateway(database: Database, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, database=database) as made:
        yield made


@pytest.fixture
def client(gateway: Served) -> Iterator[Client]:
    with Client(gateway.base_url) as made:
        yield made


def one(no: int = 0, **changes: Any) -> dict[str, Any]:
    return {"task": "desk", "message": f"message {no}"} | changes


def newest(client: Client) -> str | None:
    return next((run.id for run in client.runs(limit=1).items), None)


def test_a_batch_is_accepted_in_its_order(gateway: Served, client: Client) -> None:
    batch = client.submit_batch([one(0), one(1, tags=["vip"], session_id="s"), one(2, limits={"max_cost": "0.50"})])

    assert [(run.task, run.status) for run in batch.runs] == [("desk", "queued")] * 3
    kept = [gateway.store.inspector.run(run.id) for run in batch.runs]
    assert [run.message["content"] for run in kept] == ["message 0", "message 1", "message 2"]
    assert (kept[1].tags, kept[1].session_id, str(kept[2].max_cost)) == (["vip"], "s", "0.50")


def test_the_awaited_client_submits_batches_too(gateway: Served) -> None:
    async def submit() -> list[str]:
        async with AsyncClient(gateway.base_url) as client:
            return [run.id for run in (await client.submit_batch([one(0), one(1)])).runs]

    assert [gateway.store.inspector.run(run_id).task for run_id in asyncio.run(submit())] == ["desk"] * 2


def test_a_repeated_batch_shows_the_runs_of_the_first_as_they_are_now(gateway: Served, client: Client) -> None:
    first = client.submit_batch([one(0), one(1)], idempotency_key="nightly")
    gateway.finish(first.runs[1].id)

    again = client.submit_batch([one(0), one(1)], idempotency_key="nightly")
    other = gateway.http.post("/v1/batches", json={"runs": [one(0)]}, headers={"Idempotency-Key": "nightly"})

    assert [run.id for run in again.runs] == [run.id for run in first.runs]
    assert [run.status for run in again.runs] == ["queued", "completed"]
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert newest(client) == first.runs[1].id


@pytest.mark.parametrize(
    ("runs", "code", "told"),
    [
        ([one(), one(task="nothing")], "unknown_task", "body.runs.1: application 'tests' has no task 'nothing'"),
        ([one(), one(), one(message=" ")], "invalid_request", "body.runs.2.message: "),
        ([one(), one(priority="high")], "invalid_request", "body.runs.1.priority: "),
        ([one(), one(message="\ud800")], "unwritable", "body.runs.1.message: "),
        ([one(), one(version="8")], "invalid_request", "body.runs.1: the run is for version '8'"),
        ([], "invalid_request", "body.runs: "),
        ([one()] * 501, "invalid_request", "body.runs: "),
    ],
)
def test_an_error_names_the_run_that_has_it_and_nothing_is_accepted(
    gateway: Served, client: Client, runs: list[Any], code: str, told: str
) -> None:
    before = newest(client)
    body = json.dumps({"runs": runs})
    response = gateway.http.post("/v1/batches", content=body, headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert response.json()["code"] == code
    assert told in response.json()["detail"]
    assert newest(client) == before


def test_a_full_batch_is_accepted(gateway: Served, client: Client) -> None:
    batch = client.submit_batch([one(no) for no in range(500)])

    assert len({run.id for run in batch.runs}) == 500
    assert gateway.store.inspector.run(batch.runs[499].id).message["content"] == "message 499"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_results_are_read_whatever_characters_they_have(gateway: Served, client: Client, separator: str) -> None:
    batch = client.submit_batch([one(0), one(1)])
    texts = [f"first line{separator}second line", "other"]
    for run, text in zip(batch.runs, texts, strict=True):
        gateway.finish(run.id, text)

    assert [line.result for line in client.all_batch_results(batch.id, limit=1)] == texts


class Deaf(InProcessBus):
    """Takes two messages, and then none."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[str] = []

    def wake(self, run: str, version: str | None = None) -> None:
        self.tried.append(run)
        if len(self.tried) > 2:
            raise BrokerUnavailableError("the broker went away")


def test_coordinators_are_told_of_each_run_until_the_broker_goes_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bus = Deaf()
    with served(tmp_path, bus=bus) as gateway, Client(gateway.base_url) as client:
        batch = client.submit_batch([one(no) for no in range(6)])
    # The server has ended, and with it what follows its answers.

    assert bus.tried == [run.id for run in batch.runs[:3]]
    assert [record.runs for record in caplog.records if getattr(record, "action", "") == "wake_failed"] == [4]  # type: ignore[attr-defined]
