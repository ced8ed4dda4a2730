"""An embedder's requests are paid from the limits of their run before they are made, in a script and served."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.served_parts import Desk
from tests.support.vector_stores import FixedEmbedder, documents, sqlite_config

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    Document,
    Embedder,
    MockLMConfig,
    OpenAIEmbedder,
    RetrievalTool,
    Task,
)
from turnwise.errors import LimitReachedError, ModelUnavailableError
from turnwise.integrations.retrieval.indexed_store import IndexedStore
from turnwise.models.budget.purse import Purse
from turnwise.record.store import Store
from turnwise.testing.fake_llm.server import FakeLLMServer

# 18 bytes, and 4 for the form: 22 tokens are put aside for it. The server counts 5.
ASK = '{"request": "retrieve", "query": "forgotten password", "k": 1}'
PRICE = Decimal(1)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer([]) as running:
        yield running


def embedder(server: FakeLLMServer, **settings: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(api_base=server.base_url, api_key=SecretStr("k"), **settings)


def clerk(directory: Path, embedder: Embedder) -> Task[Any]:
    """Looks the same up for ever; its model costs nothing."""
    config = sqlite_config(directory, embedder)
    agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=lambda _: ASK), vecdb=config))
    agent.enable_message(RetrievalTool)
    return Task(agent, interactive=False)


def looked_up(server: FakeLLMServer) -> int:
    return server.stats()["texts"]


@pytest.mark.parametrize(
    ("limits", "requests", "price"),
    [
        ({"max_tokens": 40}, 4, PRICE),
        ({"max_cost": Decimal("0.000040")}, 4, PRICE),
        ({"max_tokens": 21}, 0, PRICE),
        ({"max_cost": Decimal(5)}, 0, None),
    ],
)
def test_a_request_that_could_go_over_a_limit_is_not_made(
    server: FakeLLMServer, store: Store, tmp_path: Path, limits: dict[str, Any], requests: int, price: Decimal | None
) -> None:
    priced = embedder(server, input_price=price)
    sqlite_config(tmp_path, priced).open().add(documents())
    app = App("tests")
    app.task(name="clerk")(lambda: clerk(tmp_path, priced))

    before = looked_up(server)
    task = clerk(tmp_path, priced)
    task.run("hello", **limits)
    here = looked_up(server) - before
    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("clerk", **limits))
    there = looked_up(server) - before - here

    assert (here, there) == (requests, requests)
    assert task.agent.usage.prompt_tokens == run.prompt_tokens == 5 * requests
    assert run.status_code == ("MAX_COST" if "max_cost" in limits else "MAX_TOKENS")
    assert (run.reserved_cost, run.reserved_tokens) == (Decimal(0), 0)
    assert run.cost == task.agent.usage.cost == 5 * requests * PRICE / 1_000_000
    [refused] = [event.data or {} for event in store.inspector.events(run.id) if event.type == "limit.reached"]
    assert "text-embedding-3-small" in refused["message"]
    assert ("input_price" in refused["message"]) == (price is None)


def test_each_request_of_a_long_list_is_paid_by_itself(server: FakeLLMServer) -> None:
    purse = Purse(max_tokens=20)
    before = looked_up(server)

    # 7 bytes, and 4 for the form, are put aside for each; the server counts 2.
    with purse.open(), pytest.raises(LimitReachedError, match="11 tokens; 10 are left"):
        embedder(server, batch_size=1).embed([f"text {number:2}" for number in range(8)])

    assert looked_up(server) - before == purse.used.calls == 5
    assert purse.tokens == purse.used.prompt_tokens == 10


@pytest.mark.parametrize("in_event_loop", [False, True])
def test_requests_before_one_that_failed_count_as_the_agents(
    server: FakeLLMServer, tmp_path: Path, in_event_loop: bool
) -> None:
    agent = clerk(tmp_path, embedder(server, batch_size=1)).agent
    purse, store = Purse(max_tokens=20), agent.vecdb
    assert isinstance(store, IndexedStore)
    texts = [Document(text=f"text {number:2}") for number in range(8)]

    # As above: five requests of 2 tokens are made, and the sixth has no room.
    with purse.open(), pytest.raises(LimitReachedError):
        asyncio.run(store.add_async(texts)) if in_event_loop else store.add(texts)

    assert (agent.usage.calls, agent.usage.prompt_tokens) == (5, 10)
    assert (purse.used.calls, purse.used.prompt_tokens) == (5, 10)


def test_a_server_that_can_not_be_reached_costs_nothing() -> None:
    purse = Purse(max_tokens=100)

    with purse.open(), pytest.raises(ModelUnavailableError):
        OpenAIEmbedder(api_base="http://127.0.0.1:9/v1").embed(["a text"])

    assert (purse.tokens, purse.used.calls) == (0, 0)


def test_an_embedder_of_ones_own_is_counted_once_whoever_opened_the_store(tmp_path: Path) -> None:
    own = sqlite_config(tmp_path, FixedEmbedder(vectors={"a": [1.0, 0.0]})).open()
    purse = Purse(max_tokens=100)

    with purse.open():
        own.add([Document(text="a")])

    assert (purse.tokens, purse.used.calls) == (1, 1)
