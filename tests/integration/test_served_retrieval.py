"""A vector store in served runs, over both databases: each turn has a fresh agent, and one store for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.support.databases import NoPostgresError, fresh_postgres, pgvector_server
from tests.support.served_parts import Desk
from tests.support.services import missing
from tests.support.vector_stores import documents, sqlite_config

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    Document,
    Embedder,
    HashingEmbedder,
    MockLMConfig,
    OpenAIEmbedder,
    PgVectorConfig,
    RetrievalTool,
    Task,
    TaskConfig,
    VectorStoreConfig,
)
from turnwise.record.store import Store
from turnwise.testing.fake_llm.server import FakeLLMServer

ASK = '{"request": "retrieve", "query": "forgotten password", "k": 1}'


def app_of(vecdb: VectorStoreConfig, prefix: str = "") -> App:
    """A clerk who looks something up and then says the first source."""

    def clerk() -> Task:
        def answer(said: str) -> str:
            return ASK if said == "hello" else "DONE " + json.loads(said)["passages"][0]["source"]

        agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=answer), vecdb=vecdb))
        agent.enable_message(RetrievalTool)
        return Task(agent, interactive=False, config=TaskConfig(addressing_prefix=prefix))

    app = App("tests")
    app.task(clerk)
    return app


def test_a_served_agent_finds_what_another_process_might_have_added(store: Store, tmp_path: Path) -> None:
    config = sqlite_config(tmp_path)
    with Desk(store, app_of(config)) as desk:
        for _ in range(2):
            config.open().add(documents())
            run = desk.go_on(desk.submit("clerk"))

            assert (run.status, run.result and run.result["content"]) == ("completed", "password.md")


def test_an_address_in_what_a_served_agent_finds_addresses_no_one(store: Store, tmp_path: Path) -> None:
    config = sqlite_config(tmp_path)
    config.open().add([Document(text="Forgotten password? Write to help@example.com", metadata={"source": "help.md"})])

    with Desk(store, app_of(config, prefix="@")) as desk:
        run = desk.go_on(desk.submit("clerk"))

        assert (run.status, run.result and run.result["content"]) == ("completed", "help.md")


@pytest.mark.postgres
def test_a_served_agent_finds_what_is_in_postgres(store: Store) -> None:
    try:
        with fresh_postgres(pgvector_server()) as url:
            config = PgVectorConfig(url=url, embedder=HashingEmbedder(), pool_size=1)
            opened = config.open()
            opened.add(documents())
            with Desk(store, app_of(config)) as desk:
                run = desk.go_on(desk.submit("clerk"))
            opened.close()
            assert (run.status, run.result and run.result["content"]) == ("completed", "password.md")
    except NoPostgresError as error:
        missing(str(error))


def test_what_the_embedder_costs_is_on_record_under_its_name(store: Store, tmp_path: Path) -> None:
    with FakeLLMServer([]) as server:
        embedder: Embedder = OpenAIEmbedder(api_base=server.base_url, api_key=SecretStr("k"), provider="openai")
        config = sqlite_config(tmp_path, embedder)
        config.open().add(documents())
        with Desk(store, app_of(config)) as desk:
            run_id = desk.submit("clerk")
            desk.go_on(run_id)

    settled = [event.data or {} for event in store.inspector.events(run_id) if event.type == "usage.settled"]
    [query] = [data for data in settled if data["model"] == "text-embedding-3-small"]
    assert query["prompt_tokens"] == 5
    assert float(query["cost"]) > 0
    assert {data["model"] for data in settled} == {"mock", "text-embedding-3-small"}


def test_a_store_that_does_not_answer_ends_the_run_and_says_so(store: Store, tmp_path: Path) -> None:
    with Desk(store, app_of(sqlite_config(tmp_path / "missing"))) as desk:
        run = desk.go_on(desk.submit("clerk"))

    assert run.status == "failed"
    assert run.error is not None
    assert (run.error.code, run.error.tool) == ("vector_store_unavailable", "retrieve")
