"""A run that a limit ended is completed, and says so to every client: over HTTP, by exit code and in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Terminal, terminal
from tests.support.client_views import present

from turnwise import App, ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, OpenAIGPTConfig, Task
from turnwise.api.runs import RunWithTree
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import ConflictError
from turnwise.processes.settings import load_settings

__all__ = ["terminal"]

# Without a price, so that it is refused under a limit of cost before anybody is called.
UNPRICED = OpenAIGPTConfig(chat_model="house-model", api_base="http://127.0.0.1:9/v1")


class Echo(ChatAgent):
    """Says what its model said, and a little more."""

    def handle_message_fallback(self, msg: str | ChatDocument) -> str:
        return f"{msg.content if isinstance(msg, ChatDocument) else msg}+"


def _desk(name: str, llm: Any, *, single_round: bool = False) -> Task[Any]:
    return Task(Echo(ChatAgentConfig(name=name, llm=llm)), interactive=False, single_round=single_round)


def _booker() -> Task[Any]:
    """Asks a human before it is done."""
    model = MockLMConfig(response_fn=lambda text: f"DONE {text}" if text == "yes" else "__SEND__:User Shall I book?")
    return Task(ChatAgent(ChatAgentConfig(name="booker", llm=model)), interactive=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    app = App("limits")
    app.task(name="unpriced")(lambda: _desk("unpriced", UNPRICED))
    talker = MockLMConfig(response_fn=lambda text: "DONE enough" if len(text) > 3 else f"{text}+")
    app.task(name="talker")(lambda: _desk("talker", talker))
    app.task(name="clerk")(lambda: _desk("clerk", talker, single_round=True))
    app.task(name="booker")(_booker)
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, app) as made:
        yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


def _ended(client: Client, run_id: str) -> RunWithTree:
    list(client.events(run_id))
    return client.run(run_id)


def test_a_client_reads_which_limit_ended_a_run_and_why(client: Client) -> None:
    run = client.submit("unpriced", "hello", max_cost=Decimal("0.05"), wait=10)
    ended = _ended(client, run.id)

    assert (ended.status, ended.status_code) == ("completed", "MAX_COST")
    stopped = present(ended.stopped)
    assert (stopped.limit, stopped.scope, stopped.value, stopped.used) == ("cost", "run", "0.05", "0")
    assert present(stopped.why).startswith("model 'house-model' has no known price")
    assert stopped.message.startswith("stopped: cost limit $0.05, $0 used; model 'house-model' has no known price")
    [listed] = client.runs().items
    assert listed.stopped == stopped


def test_turns_are_a_limit_and_an_end_by_itself_is_none(client: Client) -> None:
    short = _ended(client, client.submit("talker", "a", turns=2).id)
    whole = _ended(client, client.submit("talker", "a").id)

    assert (short.status, present(short.stopped).limit, present(short.stopped).value) == ("completed", "turns", 2)
    assert (whole.status_code, whole.stopped) == ("DONE", None)


@pytest.mark.parametrize(
    ("task", "limit", "option", "message"),
    [
        ("unpriced", ["--max-cost", "0.05"], "--max-cost USD", "stopped: cost limit $0.05"),
        ("unpriced", ["--max-tokens", "20"], "--max-tokens N", "stopped: limit of 20 tokens"),
        ("talker", ["--turns", "2"], "--turns N", "stopped: limit of 2 turns"),
    ],
)
def test_waiting_for_a_run_that_a_limit_ends_exits_with_3_and_says_it(
    server: EmbeddedServer, terminal: Terminal, task: str, limit: list[str], option: str, message: str
) -> None:
    told = terminal.run("submit", task, "a", "--wait", *limit, "--url", server.url, code=3)

    assert message in told
    assert re.search(rf"turnwise fork run_\w+ --at \d+ {option}", told)
    [listed] = json.loads(terminal.run("runs", "--json", "--url", server.url))["items"]
    assert message in terminal.run("runs", "--url", server.url)
    assert message in terminal.run("show", listed["id"], "--url", server.url)
    assert message in terminal.run("watch", listed["id"], "--json", "--url", server.url, code=3)


@pytest.mark.parametrize("task", ["talker", "clerk"])
def test_a_whole_run_exits_with_0(server: EmbeddedServer, terminal: Terminal, task: str) -> None:
    assert "stopped" not in terminal.run("submit", task, "a", "--wait", "--url", server.url)
    assert "stopped" not in terminal.run("runs", "--url", server.url)


def test_a_single_round_that_has_ended_is_completed_to_a_retry(client: Client) -> None:
    run = _ended(client, client.submit("clerk", "a").id)

    with pytest.raises(ConflictError, match="has not failed, it is completed"):
        client.retry(run.id)


def test_a_retry_of_such_a_run_is_refused_with_the_command_that_goes_on(client: Client) -> None:
    run = _ended(client, client.submit("talker", "a", turns=2).id)

    with pytest.raises(ConflictError) as caught:
        client.retry(run.id)

    assert caught.value.code == "not_failed"
    found = re.search(rf"turnwise fork {run.id} --at (\d+) --turns N", str(caught.value))
    assert found is not None
    fork = client.fork(run.id, int(found[1]), turns=20)
    assert present(_ended(client, fork.id).result).content == "enough"


def test_the_fork_that_goes_on_keeps_the_last_answer_of_a_human(
    client: Client, server: EmbeddedServer, terminal: Terminal
) -> None:
    run = client.submit("booker", "Lyon", turns=2)
    next(event for event in client.events(run.id) if event.type == "human.asked")
    client.answer(run.id, "yes")

    told = terminal.run("watch", run.id, "--url", server.url, code=3)
    with pytest.raises(ConflictError) as caught:
        client.retry(run.id)

    commands = [re.search(rf"turnwise fork {run.id} --at (\d+) --turns N", text) for text in (told, str(caught.value))]
    [at] = {int(present(found)[1]) for found in commands}
    assert present(_ended(client, client.fork(run.id, at, turns=10).id).result).content == "yes"


def test_a_retry_after_a_refused_call_names_the_ask_that_was_refused(client: Client) -> None:
    run = _ended(client, client.submit("unpriced", "a", max_tokens=20).id)

    with pytest.raises(ConflictError) as caught:
        client.retry(run.id)

    found = re.search(rf"turnwise fork {run.id} --at (\d+) --max-tokens N", str(caught.value))
    assert found is not None
    fork = client.fork(run.id, int(found[1]), max_tokens=21)
    ended = _ended(client, fork.id)
    assert (ended.status_code, present(ended.stopped).value) == ("MAX_TOKENS", 21)
