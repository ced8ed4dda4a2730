"""Sessions from the command line, over an embedded server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal
from tests.support.client_views import present

from turnwise import App, ChatAgent, ChatAgentConfig, ChatDocument, Entity, MockLMConfig, Role, Task
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

__all__ = ["terminal"]


def _task(*, restart: bool) -> Task:
    """One answer to each message: how many its model has seen."""

    class Counting(ChatAgent):
        def handle_message_fallback(self, msg: str | ChatDocument) -> str | None:
            heard = sum(message.role == Role.USER for message in self.message_history)
            said_by_model = isinstance(msg, ChatDocument) and msg.metadata.sender == Entity.LLM
            return f"DONE {heard} heard" if said_by_model else None

    return Task(Counting(ChatAgentConfig(name="desk", llm=MockLMConfig())), interactive=False, restart=restart)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    app = App("tests")
    app.task(name="keeping")(lambda: _task(restart=False))
    app.task(name="asking")(lambda: Task(ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig()))))
    app.task(name="forgetting")(lambda: _task(restart=True))
    folder: Path = tmp_path_factory.mktemp("server")
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, app) as made:
        yield made


def test_a_chat_with_a_task_that_keeps_its_conversation_is_one_session(
    terminal: Terminal, server: EmbeddedServer
) -> None:
    out = terminal.run("chat", "keeping", "one", "--url", server.url, input="two\nthree\nq\n")

    assert re.findall(r"\d heard", out) == ["1 heard", "2 heard", "3 heard"]
    with Client(server.url) as client:
        [session] = {present(run.session_id) for run in client.runs(task="keeping", limit=3).items}
        assert session.startswith("chat_")
        assert client.session(session).runs == 3


def test_a_chat_goes_on_with_a_session_that_is_named(terminal: Terminal, server: EmbeddedServer) -> None:
    terminal.run("submit", "keeping", "one", "--session", "mine", "--wait", "--url", server.url)

    out = terminal.run("chat", "keeping", "two", "--session", "mine", "--url", server.url)

    assert "2 heard" in out
    listed = terminal.run("runs", "--session", "mine", "--url", server.url)
    assert len(re.findall("^run_", listed, re.MULTILINE)) == 2
    searched = terminal.run("runs", "--search", "TWO", "--session", "mine", "--url", server.url)
    assert len(re.findall("^run_", searched, re.MULTILINE)) == 1


def test_a_chat_with_a_task_that_begins_afresh_is_one_run(terminal: Terminal, server: EmbeddedServer) -> None:
    out = terminal.run("chat", "forgetting", "one", "--url", server.url, input="two\n")

    assert "1 heard" in out
    with Client(server.url) as client:
        [run] = client.runs(task="forgetting").items
    assert run.session_id is None


def test_a_run_that_waits_for_another_says_for_which(terminal: Terminal, server: EmbeddedServer) -> None:
    with Client(server.url) as client:
        # A run that asks a human holds its session.
        client.submit("asking", "hello", session_id="held", wait=20)
        held = client.submit("keeping", "one", session_id="held")
        first = client.runs(session="held").items[1].id
        assert client.run(first).status == "waiting"
        until(lambda: present(client.run(held.id).waiting_for)["kind"] == "session", "the run to wait for its turn")

        shown = terminal.run("show", held.id, "--url", server.url)
        client.cancel(first)
        until(lambda: client.run(held.id).finished_at, "the run to end")

    assert f"The run {first}, which is before it in its session, has to end first." in shown


def test_runs_submitted_at_once_are_answered_one_after_another(server: EmbeddedServer) -> None:
    with Client(server.url) as client:
        runs = [client.submit("keeping", str(n), session_id="busy") for n in range(8)]
        ended = [client.submit("keeping", "last", session_id="busy", wait=20)]
        assert present(ended[0].result).content == "9 heard"
        results = [present(client.run(run.id).result).content for run in runs]

        assert results == [f"{n} heard" for n in range(1, 9)]
        assert client.session("busy").unfinished == 0
        client.delete_session("busy")
        assert present(client.submit("keeping", "anew", session_id="busy", wait=20).result).content == "1 heard"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hi", "--session", "a b"], "--session: expected letters, digits and ._:@-, at most 128"),
        (["hi", "--deadline", "-1"], "--deadline: Input should be greater than 0"),
        ([""], "MESSAGE: the message is empty; say what the task is to work on"),
    ],
)
def test_what_the_server_refuses_is_named_as_it_was_typed(
    terminal: Terminal, server: EmbeddedServer, arguments: list[str], told: str
) -> None:
    assert terminal.refused("submit", "forgetting", *arguments, "--url", server.url).startswith(told)


def test_a_log_into_a_missing_folder_is_refused_before_it_is_fetched(
    terminal: Terminal, server: EmbeddedServer
) -> None:
    run = terminal.run("submit", "forgetting", "one", "--url", server.url).strip()

    assert "there is no folder" in terminal.refused("show", run, "--html", "-o", "none/x", "--url", server.url)
