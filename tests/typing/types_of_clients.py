"""A type checker's view of both clients, and mistakes that it must reject.

Nobody runs this. As in `misuse`, `mypy --strict` fails where a mistake is found no longer.
"""

from __future__ import annotations

from typing import assert_type

from turnwise import AsyncClient, Client
from turnwise.api.batches import BatchView
from turnwise.api.events import DeltaView, EventView, UnknownNotice
from turnwise.api.fleet import TaskView
from turnwise.api.inbox import ParkedView, QuestionView, UnknownItem
from turnwise.api.pages import Page
from turnwise.api.runs import RunView, RunWithTree


def what_the_client_returns(client: Client) -> None:
    assert_type(client.submit("trip", "Lyon", wait=1, max_tokens=10), RunView)
    assert_type(client.submit_batch([{"task": "trip", "message": "Lyon"}]), BatchView)
    assert_type(client.run("run_1"), RunWithTree)
    assert_type(client.runs(status="waiting"), Page[RunView])
    assert_type(client.inbox(), list[QuestionView | ParkedView | UnknownItem])
    assert_type(client.tasks(), list[TaskView])
    for run in client.all_runs(tag="loop"):
        assert_type(run, RunView)
    for event in client.events("run_1", after=3):
        assert_type(event, EventView | DeltaView | UnknownNotice)


async def what_the_client_of_a_loop_returns(client: AsyncClient) -> None:
    assert_type(await client.submit("trip", "Lyon"), RunView)
    assert_type(await client.run("run_1"), RunWithTree)
    async for run in client.all_runs():
        assert_type(run, RunView)
    async for event in client.events("run_1", text=True):
        assert_type(event, EventView | DeltaView | UnknownNotice)


def mistakes(client: Client) -> None:
    client.submit("trip")  # type: ignore[call-arg]
    client.submit("trip", "Lyon", max_cost=[0.5])  # type: ignore[arg-type]
    client.submit("trip", "Lyon", maxcost=1)  # type: ignore[call-arg]
    client.runs("waiting")  # type: ignore[call-arg]
    print(client.run("run_1").state)  # type: ignore[attr-defined]
    client.resolve("run_1.1", "perhaps")  # type: ignore[arg-type]


async def mistakes_in_a_loop(client: AsyncClient) -> None:
    print(client.run("run_1").status)  # type: ignore[attr-defined]
    for run in client.all_runs():  # type: ignore[attr-defined]
        print(run)
