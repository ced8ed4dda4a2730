"""Other limits for a run that goes on, over HTTP and from the command line, with an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal
from tests.support.client_views import numbered, present

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.api.runs import RunWithTree
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import ConflictError
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.server import FakeLLMServer

__all__ = ["terminal"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with FakeLLMServer([{"reply": "DONE at last"}]) as model:
        config = OpenAIGPTConfig(
            chat_model="m",
            api_base=model.base_url,
            api_key=SecretStr("k"),
            input_price=Decimal(1),
            output_price=Decimal(1),
            max_output_tokens=100,
        )
        app = App("tests")
        app.task(name="desk")(lambda: Task(ChatAgent(ChatAgentConfig(name="desk", llm=config)), interactive=False))
        with EmbeddedServer(settings, app) as made:
            yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


def waiting(client: Client, **limits: Any) -> str:
    """A run that waits for more budget of its own."""
    run_id = str(client.submit("desk", "go", on_limit="wait", **limits).id)
    until(lambda: client.run(run_id).status == "waiting", "the run to wait")
    assert present(client.run(run_id).waiting_for)["kind"] == "budget"
    return run_id


def ended(client: Client, run_id: str) -> RunWithTree:
    until(lambda: client.run(run_id).status not in ("queued", "running", "waiting"), "the run to end")
    return client.run(run_id)


def patch(server: EmbeddedServer, run_id: str, body: object) -> httpx2.Response:
    return httpx2.patch(f"{server.url}/v1/runs/{run_id}", json=body, timeout=30)


def test_a_waiting_run_goes_on_when_its_limit_is_raised_over_http(server: EmbeddedServer, client: Client) -> None:
    run_id = waiting(client, max_tokens=20)

    response = patch(server, run_id, {"limits": {"max_tokens": 20_000}})

    assert response.status_code == 200
    assert response.json()["limits"]["max_tokens"] == 20_000
    run = ended(client, run_id)
    assert (run.status, present(run.result).content) == ("completed", "at last")
    [changed] = [event for event in numbered(client.events(run_id)) if event.type == "limits.changed"]
    assert changed.data == {"max_tokens": 20_000}
    again = patch(server, run_id, {"limits": {"max_tokens": 30_000}})
    assert (again.status_code, again.json()["code"]) == (409, "already_ended")


def test_a_waiting_run_goes_on_when_its_limit_is_raised_on_the_command_line(
    server: EmbeddedServer, client: Client, terminal: Terminal
) -> None:
    run_id = waiting(client, max_cost=Decimal("0.00001"))

    said = terminal.run("raise", run_id, "--max-cost", "0.05", "--url", server.url)

    assert said == f"{run_id} has other limits.\n"
    run = ended(client, run_id)
    assert (run.status, run.limits.max_cost, present(run.result).content) == ("completed", "0.05", "at last")


def test_0_is_no_limit_wherever_limits_are_given(server: EmbeddedServer, client: Client, terminal: Terminal) -> None:
    free: Any = {"max_cost": "0", "max_tokens": 0}
    run = client.submit("desk", "go", **free, wait=10)
    fork = client.fork(run.id, 1, **free)
    at = ("--max-cost", "0", "--max-tokens", "0", "--url", server.url)
    shown = terminal.run("submit", "desk", "go", "--wait", *at)

    for found in (run, ended(client, fork.id)):
        assert (found.status, found.limits.max_cost, found.limits.max_tokens) == ("completed", "0", 0)
    assert "at last" in shown
    with pytest.raises(ConflictError, match="has not failed"):  # not for its limits
        client.retry(run.id, **free)


def test_a_batch_without_limits_may_say_so(server: EmbeddedServer, client: Client, terminal: Terminal) -> None:
    file = terminal.folder / "items.jsonl"
    file.write_text('"first"\n"second"\n')
    output = terminal.folder / "results.jsonl"
    command = ("batch", "desk", str(file), "-o", str(output), "--max-cost", "0", "--max-tokens", "0")

    for more in ((), (), ("--retry-failed",)):
        assert "2 completed" in terminal.whole(*command, "--url", server.url, *more)
    [batch] = client.batches(limit=1).items
    assert (batch.budget.max_cost, batch.budget.max_tokens) == (None, None)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"limits": {}}, "no limit is given"),
        ({"limits": {"max_tokens": -1}}, "max_tokens"),
        ({"limits": {"max_cost": "-0.5"}}, "max_cost"),
        ({"limits": {"max_cost": "much"}}, "max_cost"),
        ({"limits": {"turns": 5}}, "turns"),
        ({}, "limits"),
        ([], "object"),
    ],
)
def test_bad_limits_are_refused_with_the_field(server: EmbeddedServer, client: Client, body: object, told: str) -> None:
    response = patch(server, str(client.submit("desk", "go", wait=10).id), body)

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert told in response.text


def test_an_unknown_run_and_bad_usage_are_told(server: EmbeddedServer, terminal: Terminal) -> None:
    unknown = "run_01a2008063e470018e4c8a67ed53eb22"

    assert patch(server, unknown, {"limits": {"max_tokens": 5}}).status_code == 404
    assert "give --max-cost, --max-tokens or both" in terminal.run("raise", unknown, "--url", server.url, code=2)
    assert "is not an amount in US dollars" in terminal.run(
        "raise", unknown, "--max-cost", "much", "--url", server.url, code=2
    )
    assert "there is no run" in terminal.refused("raise", unknown, "--max-tokens", "5", "--url", server.url)
