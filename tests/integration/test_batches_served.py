"""Batches of an embedded server over HTTP: begun, paid from one budget, read out, cancelled, taken up again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, OpenAIGPTConfig, Task
from turnwise.api.batches import BatchView
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import AsyncClient, Client
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError, UnknownTaskError
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.server import FakeLLMServer

BROKEN, HELD = threading.Event(), threading.Event()


def _shaky(text: str) -> str:
    if BROKEN.is_set() and "odd" in text:
        raise RuntimeError("the model is broken")
    return f"DONE {text}"


def _held(text: str) -> str:
    HELD.wait(30)
    return f"DONE {text}"


def _app(models: FakeLLMServer) -> App:
    app = App("batches")
    paid = OpenAIGPTConfig(
        chat_model="house",
        api_base=models.base_url,
        api_key=SecretStr("k"),
        max_output_tokens=10,
        min_output_tokens=5,
        input_price=Decimal(1),
        output_price=Decimal(2),
    )
    kinds: dict[str, Any] = {
        "echo": MockLMConfig(response_fn=lambda text: f"DONE {text}"),
        "shaky": MockLMConfig(response_fn=_shaky),
        "held": MockLMConfig(response_fn=_held),
        "paid": paid,
    }
    for name, llm in kinds.items():
        app.task(name=name)(
            lambda name=name, llm=llm: Task(ChatAgent(ChatAgentConfig(name=name, llm=llm)), interactive=False)
        )
    return app


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    url = f"sqlite:///{tmp_path_factory.mktemp('batches') / 'runs.db'}"
    with (
        FakeLLMServer([{"reply": "DONE ok"}]) as models,
        EmbeddedServer(load_settings(database_url=url, bind="127.0.0.1:0"), _app(models)) as made,
    ):
        yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    HELD.clear()
    BROKEN.clear()
    with Client(server.url) as made:
        yield made
    HELD.set()


def filled(client: Client, task: str, messages: list[str], **more: Any) -> BatchView:
    batch = client.open_batch(task, **more)
    client.add_batch_items(batch.id, 1, [{"message": text, "id": f"id-{text}"} for text in messages])
    return client.seal_batch(batch.id)


def ended(client: Client, batch: BatchView) -> BatchView:
    until(lambda: client.batch(batch.id).finished_at is not None, "the batch to end")
    return client.batch(batch.id)


def counts(batch: BatchView) -> dict[str, int]:
    return {name: count for name, count in batch.counts.model_dump().items() if count}


def test_a_batch_goes_through_its_items_a_few_at_a_time_and_gives_results_in_order(client: Client) -> None:
    messages = [f"m{no}" for no in range(30)]
    batch = filled(client, "echo", messages, name="thirty", concurrency=3)

    done = ended(client, batch)

    assert (done.status, done.name, done.task, done.total, counts(done)) == (
        "completed", "thirty", "echo", 30, {"completed": 30},
    )  # fmt: skip
    results = list(client.all_batch_results(batch.id, limit=7))
    assert [(one.line, one.id, one.result) for one in results] == [
        (no, f"id-{text}", text) for no, text in enumerate(messages, 1)
    ]
    assert {present(one.usage).calls for one in results} == {1}
    assert done.usage.calls == 30
    assert {run.id for run in client.all_runs(batch=batch.id)} == {one.run for one in results}
    assert {run.batch_id for run in client.runs(batch=batch.id).items} == {batch.id}


def test_the_awaited_client_has_the_same_methods(client: Client, server: EmbeddedServer) -> None:
    batch = ended(client, filled(client, "echo", ["a", "b", "c"]))

    async def read() -> tuple[list[int], list[str]]:
        async with AsyncClient(server.url) as awaited:
            lines = [one.line async for one in awaited.all_batch_results(batch.id, after=1, limit=1)]
            return lines, [one.id async for one in awaited.all_batches(limit=1)]

    lines, ids = asyncio.run(read())
    assert lines == [2, 3]
    assert ids[0] == batch.id
    assert ids == [one.id for one in client.batches(limit=100).items]


def test_a_budget_that_is_used_up_leaves_the_rest_undone_until_it_is_raised(client: Client) -> None:
    one = present(ended(client, filled(client, "paid", ["message"])).usage)
    each = one.prompt_tokens + one.completion_tokens
    batch = filled(
        client, "paid", ["message"] + [f"message{no}" for no in range(9)], max_tokens=6 * each, concurrency=2
    )

    stopped = ended(client, batch)

    assert (stopped.status, stopped.stopped) == ("stopped", "tokens")
    assert stopped.usage.prompt_tokens + stopped.usage.completion_tokens <= 6 * each
    assert stopped.counts.completed >= 1
    assert stopped.counts.not_started >= 1
    lines = client.batch_results(batch.id).items
    assert [line.status for line in lines][-1] == "not_started"
    assert {present(line.stopped).scope for line in lines if line.status == "limited"} <= {"batch"}

    again = client.retry_batch(batch.id, max_tokens=1_000_000)
    assert again.refused == []
    done = ended(client, batch)
    assert (done.status, done.stopped, counts(done), done.budget.max_tokens) == (
        "completed", None, {"completed": 10}, 1_000_000,
    )  # fmt: skip


def test_money_is_a_budget_too(client: Client) -> None:
    batch = filled(client, "paid", ["a", "b", "c"], max_cost=Decimal("0.000001"))

    stopped = ended(client, batch)

    assert (stopped.status, stopped.stopped, stopped.usage.cost) == ("stopped", "cost", "0")
    assert stopped.counts.limited + stopped.counts.not_started == 3
    assert present(client.batch_results(batch.id).items[0].stopped).message.startswith(
        "stopped: the batch's cost limit"
    )


def test_failed_items_continue_and_others_are_left_alone(client: Client) -> None:
    BROKEN.set()
    batch = filled(client, "shaky", ["odd 1", "even", "odd 2"])
    failed = ended(client, batch)
    assert (failed.status, counts(failed)) == ("completed", {"completed": 1, "failed": 2})
    assert "the model is broken" in repr(client.batch_results(batch.id).items[0].error)

    BROKEN.clear()
    first = client.retry_batch(batch.id, limit=2)
    second = client.retry_batch(batch.id, after=present(first.next_after), limit=2)

    assert (first.continued, first.next_after, second.continued, second.next_after) == (1, 2, 1, None)
    until(lambda: client.batch(batch.id).counts.completed == 3, "the failed items to complete")
    assert [one.result for one in client.batch_results(batch.id).items] == ["odd 1", "even", "odd 2"]
    assert ended(client, batch).status == "completed"


def test_a_cancelled_batch_ends_its_runs_and_begins_no_more(client: Client) -> None:
    batch = filled(client, "held", ["a", "b", "c"], concurrency=1)
    until(lambda: client.batch(batch.id).counts.running == 1, "the first run to begin")

    client.cancel_batch(batch.id)

    cancelled = ended(client, batch)
    assert (cancelled.status, counts(cancelled)) == ("cancelled", {"cancelled": 1, "not_started": 2})
    with pytest.raises(ConflictError, match="was cancelled"):
        client.retry_batch(batch.id)


def test_a_lost_answer_to_a_part_does_not_double_its_items(client: Client) -> None:
    batch = client.open_batch("echo", key="lost")
    part: list[dict[str, Any]] = [{"message": "a"}, {"message": "b", "tags": ["x"]}]
    assert client.add_batch_items(batch.id, 1, part).total == 2
    assert client.add_batch_items(batch.id, 1, part).total == 2
    assert client.open_batch("echo", key="lost").total == 2

    client.seal_batch(batch.id)
    assert ended(client, batch).usage.calls == 2


def test_a_part_may_be_sent_again_to_a_server_with_another_version_and_other_limits(tmp_path: Path) -> None:
    part: list[dict[str, Any]] = [{"message": "a", "id": "1", "limits": {"max_tokens": 9_000}}, {"message": "b"}]
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    more: dict[str, Any]
    for version, more in (("1", {}), ("2", {"run_deadline": 3_600, "max_turns": 7, "max_cost": Decimal(1)})):
        app = App("again", version=version)
        app.task(name="echo")(lambda: Task(ChatAgent(ChatAgentConfig(llm=MockLMConfig())), interactive=False))
        settings = load_settings(database_url=url, bind="127.0.0.1:0", **more)
        with EmbeddedServer(settings, app) as server, Client(server.url) as client:
            batch = client.open_batch("echo", key="again")
            assert client.add_batch_items(batch.id, 1, part).total == 2
            with pytest.raises(ConflictError, match=r"item 2 of the batch .* is another one"):
                client.add_batch_items(batch.id, 1, [part[0], {"message": "b", "limits": {"max_tokens": 9_000}}])


def test_what_is_wrong_is_refused_before_anything_is_kept(client: Client) -> None:
    with pytest.raises(UnknownTaskError, match="no task 'nothing'"):
        client.open_batch("nothing")
    with pytest.raises(InvalidRequestError, match=r"body\.runs: "):
        client.submit_batch([])
    batch = client.open_batch("echo", max_tokens=500)
    wrong: list[tuple[list[dict[str, Any]], str]] = [
        (
            [{"message": "a", "id": "x"}, {"message": "b", "id": "x"}],
            r"body.items.1: the id 'x' is that of body.items.0",
        ),
        ([{"message": "a"}, {"message": " "}], r"body.items.1.message: "),
        ([{"message": "a", "limits": {"on_limit": "wait"}}], r"body.items.0: limits.on_limit is wait"),
        ([{"message": "a"}] * 1001, r"body.items: "),
    ]
    for items, told in wrong:
        with pytest.raises(InvalidRequestError, match=told):
            client.add_batch_items(batch.id, 1, items)
    with pytest.raises(ConflictError, match="has no items"):
        client.seal_batch(batch.id)
    with pytest.raises(NotFoundError, match="no batch"):
        client.batch("bat_0")
    assert client.batch(batch.id).total == 0
