"""Fork, retry and replay over HTTP and from the command line, with an embedded server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.cli import Terminal, terminal
from tests.support.client_views import numbered, present

from turnwise import App, ChatAgent, ChatAgentConfig, LLMResponse, MockLMConfig, Task, ToolMessage
from turnwise.api.events import EventView
from turnwise.api.runs import RunWithTree
from turnwise.cli.embedded import EmbeddedServer
from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.errors import ConflictError, InvalidRequestError
from turnwise.models.base import LLMFunctionCall, OpenAIToolCall
from turnwise.models.mock import MockLM
from turnwise.processes.settings import load_settings

__all__ = ["terminal"]

# The application as a module, for commands that load it themselves; its model fails while there is a file `broken`.
_MODULE = """
from pathlib import Path
from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task

app = App("again")

def says(prompt):
    if Path({broken!r}).exists():
        raise RuntimeError("the model is away")
    return "May I?" if "go" in prompt else "DONE " + prompt + " RULE"

@app.task
def desk():
    agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=says)))
    return Task(agent, interactive=True, only_user_quits_root=False)
"""


class NamedModel(MockLMConfig):
    """A model that says its name."""

    def client(self) -> MockLM:
        name = self.chat_model or "nobody"
        return MockLM(MockLMConfig(chat_model=name, response_fn=lambda _: LLMResponse(message=f"DONE by {name}")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "again_app.py").write_text(_MODULE.format(broken=str(tmp_path / "broken")))
    return tmp_path


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    found: dict[str, Any] = {}
    exec(compile((folder / "again_app.py").read_text(), "again_app.py", "exec"), found)  # noqa: S102 - our own words
    app: App = found["app"]
    agent = ChatAgent(ChatAgentConfig(name="named", llm=NamedModel(chat_model="own")))
    app.task(name="named")(lambda: Task(agent, interactive=False))
    for name, has_api in (("shop", False), ("api_shop", True)):
        app.task(name=name)(partial(_shop, name, has_api))
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, app) as made:
        yield made


class Price(ToolMessage):
    request: str = "price"
    purpose: str = "To look up the price of a <thing>."
    _effect = "read_only"
    thing: str

    def handle(self) -> str:
        return f"a {self.thing} costs 5"


def _shop(name: str, has_api: bool) -> Task:
    def says(prompt: str) -> LLMResponse | str:
        if "costs" in prompt:
            return f"DONE {prompt}"
        if not has_api:
            return '{"request": "price", "thing": "kettle"}'
        call = LLMFunctionCall(name="price", arguments={"thing": "kettle"})
        return LLMResponse(message="", oai_tool_calls=[OpenAIToolCall(id="call_1", function=call)])

    config = ChatAgentConfig(
        name=name, llm=MockLMConfig(response_fn=says), use_functions_api=has_api, use_tools=not has_api
    )
    agent = ChatAgent(config)
    agent.enable_message(Price)
    return Task(agent, interactive=False)


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


def _asked(client: Client, run_id: str) -> EventView:
    return next(event for event in numbered(client.events(run_id)) if event.type == "human.asked")


def _ended(client: Client, run_id: str) -> RunWithTree:
    events = list(client.events(run_id))
    assert events[-1].type in ("run.completed", "run.failed")
    return client.run(run_id)


def test_a_fork_answers_the_question_in_another_way(client: Client) -> None:
    # given
    run = client.submit("desk", "go", wait=10)
    asked = _asked(client, run.id)
    client.answer(run.id, "yes")
    ended = _ended(client, run.id)
    assert present(ended.result).content == "yes RULE"

    # when
    fork = client.fork(run.id, asked.seq, message="no", idempotency_key="once")
    again = client.fork(run.id, asked.seq, message="no", idempotency_key="once")

    # then
    assert again.id == fork.id != run.id
    assert fork.forked_from == {"run": run.id, "at": asked.seq}
    other = _ended(client, fork.id)
    assert present(other.result).content == "no RULE"
    assert other.usage.calls == 1  # the first call was the other's
    types = [event.type for event in client.events(fork.id)]
    before = [event.type for event in client.events(run.id)][: asked.seq]
    assert types[: asked.seq + 1] == [*before, "run.forked"]
    said = [item["document"]["content"] for item in as_json(client.transcript(fork.id))["root"]["items"]]
    assert said[:2] == ["go", "May I?"]
    assert client.run(run.id).result == ended.result


def test_a_fork_before_the_beginning_has_another_first_message_and_another_model(client: Client) -> None:
    run = client.submit("named", "hello", wait=10)
    assert present(run.result).content == "by own"

    fork = client.fork(run.id, 1, message="hello you", model="another", turns=3)

    ended = _ended(client, fork.id)
    assert (ended.model, ended.limits.turns) == ("another", 3)
    assert ended.message["content"] == "hello you"
    assert present(ended.result).content == "by another"


def test_a_fork_in_the_middle_asks_another_model(client: Client) -> None:
    run = client.submit("named", "hello", wait=10)
    asked = next(e for e in numbered(client.events(run.id)) if e.type == "turn.asked")

    fork = client.fork(run.id, asked.seq, model="another", session_id="forked")

    assert present(_ended(client, fork.id).result).content == "by another"
    with pytest.raises(ConflictError, match="a fork can only begin a new one") as caught:
        client.fork(run.id, asked.seq, session_id="forked")
    assert caught.value.code == "session_exists"


@pytest.mark.parametrize("task", ["shop", "api_shop"])
def test_a_fork_continues_with_an_answer_that_a_person_has_edited(client: Client, task: str) -> None:
    run = client.submit(task, "go", wait=10)
    assert present(run.result).content == "a kettle costs 5"
    of_model, of_tools, _ = [e for e in numbered(client.events(run.id)) if e.type == "turn.asked"]

    other_tool = client.fork(run.id, of_model.seq, message='{"request": "price", "thing": "lamp"}')
    other_result = client.fork(run.id, of_tools.seq, message="a kettle costs 7")
    other_end = client.fork(run.id, of_model.seq, message="DONE enough")

    assert present(_ended(client, other_tool.id).result).content == "a lamp costs 5"
    ended = _ended(client, other_result.id)
    assert (present(ended.result).content, ended.usage.calls) == ("a kettle costs 7", 1)
    said = as_json(client.transcript(other_result.id))["root"]["items"][2]
    assert (said["responder"], said["document"]["metadata"]["tainted"]) == ("Agent", True)
    ended = _ended(client, other_end.id)
    assert (present(ended.result).content, ended.usage.calls) == ("enough", 0)
    [forked] = [e for e in numbered(client.events(other_end.id)) if e.type == "run.forked"]
    assert forked.data == {"run": run.id, "at": of_model.seq, "version": "1", "given": True}
    assert [note.seq for note in client.transcript(other_end.id).notes] == [forked.seq]


def test_forks_that_can_not_be(client: Client) -> None:
    run = client.submit("named", "hello", wait=10)
    with pytest.raises(InvalidRequestError, match=f"has no event 99; name one from 1 to {run.last_event}"):
        client.fork(run.id, 99)
    taken = next(e for e in numbered(client.events(run.id)) if e.type == "turn.taken")
    with pytest.raises(InvalidRequestError, match=rf"at event {taken.seq} of .* no one is asked"):
        client.fork(run.id, taken.seq, message="hm")
    fork = client.fork(run.id, 3)
    with pytest.raises(ConflictError, match=f"happened in {run.id}, which it was forked from") as caught:
        client.fork(fork.id, 1)
    assert caught.value.code == "past_unknown"


def test_a_failed_run_goes_on_and_its_stream_with_it(
    client: Client, server: EmbeddedServer, folder: Path, terminal: Terminal
) -> None:
    # given
    (folder / "broken").touch()
    run_id = client.submit("desk", "go").id
    assert _ended(client, run_id).status == "failed"
    last = client.run(run_id).last_event

    # when
    (folder / "broken").unlink()
    out = terminal.run("retry", run_id, "--url", server.url)

    # then
    assert out == f"{run_id} goes on.\n"
    asked = _asked(client, run_id)
    client.answer(run_id, "yes")
    assert present(_ended(client, run_id).result).content == "yes RULE"
    after = [event.type for event in client.events(run_id, after=last)]
    assert (after[0], after[-1]) == ("run.retried", "run.completed")
    assert asked.seq > last
    said = [item["document"]["content"] for item in as_json(client.transcript(run_id))["root"]["items"]]
    assert said == ["go", "May I?", "yes", "DONE yes RULE"]
    page = terminal.run("show", run_id, "--html", "--url", server.url)
    assert page.index("The run ended: <b>ERROR</b>") < page.index("continues after a retry") < page.index("yes RULE")
    assert httpx2.get(f"{server.url}/v1/runs/{run_id}/log").text.endswith("</html>\n")
    with pytest.raises(ConflictError, match="has not failed, it is completed") as caught:
        client.retry(run_id)
    assert caught.value.code == "not_failed"
    response = httpx2.post(f"{server.url}/v1/runs/{run_id}/retry")
    assert (response.status_code, response.json()["code"]) == (409, "not_failed")


def test_replay_from_the_command_line(client: Client, server: EmbeddedServer, folder: Path, terminal: Terminal) -> None:
    # given
    run_id = client.submit("desk", "go", wait=10).id
    client.answer(run_id, "yes")
    _ended(client, run_id)
    place = ("--app", "again_app:app", "--database", f"sqlite:///{folder / 'runs.db'}")

    # when it is as it was
    told = terminal.run("replay", run_id, *place)
    all_of_it = terminal.run("replay", "--task", "desk", *place)
    terminal.run("export", run_id, "-o", "run.json", *place[2:])
    assert terminal.run("export", run_id, *place[2:]) == (terminal.folder / "run.json").read_text()

    # then
    assert re.fullmatch(rf"{run_id} \(desk\): all \d+ decisions are the same\n", told)
    assert all_of_it.startswith(told.strip())
    assert "are the same" in terminal.run("replay", "run.json", *place)

    # and so is one in which a person has written an answer
    first = next(event for event in numbered(client.events(run_id)) if event.type == "turn.asked")
    fork = client.fork(run_id, first.seq, message="DONE at once")
    _ended(client, fork.id)
    assert "are the same" in terminal.run("replay", fork.id, *place)

    # when the application decides otherwise
    module = (folder / "again_app.py").read_text()
    (folder / "other_app.py").write_text(module.replace("interactive=True", "interactive=False"))
    other = ("--app", "other_app:app", "--database", f"sqlite:///{folder / 'runs.db'}")
    result = json.loads(terminal.printed("replay", run_id, "--json", *other, code=1))

    # then
    asked = _asked(client, run_id)
    assert result["difference"]["event"] == asked.seq
    assert result["difference"]["recorded"]["type"] == "human.asked"
    assert f"event {asked.seq} differs" in terminal.printed("replay", "run.json", *other, code=1)


@pytest.mark.parametrize(
    ("damage", "said"),
    [({"events": None, "histories": 1}, "events, histories"), ({"run": []}, "run")],
)
def test_a_damaged_export_is_refused_with_what_it_lacks(
    client: Client, server: EmbeddedServer, folder: Path, terminal: Terminal, damage: dict[str, Any], said: str
) -> None:
    run_id = client.submit("desk", "go", wait=10).id
    whole = json.loads(terminal.run("export", run_id, "--database", f"sqlite:///{folder / 'runs.db'}"))
    (terminal.folder / "run.json").write_text(json.dumps(whole | damage))

    told = terminal.refused("replay", "run.json", "--app", "again_app:app")

    assert f"this exported run is damaged, it has no readable {said}; export it again" in told


def test_replay_wants_to_know_what(terminal: Terminal) -> None:
    assert "name runs or files" in terminal.run("replay", code=2)
    assert "nothing.json cannot be read as an exported run" in terminal.refused(
        "replay", "nothing.json", "--app", "tests.e2e.versioned:old"
    )
