"""`turnwise chat` over an embedded server: answers as they are written, each once, and leaving that loses nothing."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

import pytest
from tests.support.cli import Terminal, terminal

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.api.events import EventView
from turnwise.cli.commands.chat import Chat
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import ConfigurationError, QuotaExceededError, UnknownTaskError
from turnwise.models.base import LLMMessage, LLMResponse, StreamEventType, TokenSink, ToolChoice
from turnwise.models.mock import MockLM
from turnwise.processes.settings import load_settings

__all__ = ["terminal"]


class Tty(io.StringIO):
    """A terminal: what is shown on it, or what somebody types at it."""

    def isatty(self) -> bool:
        return True


class Writer(MockLM):
    """Writes its answer word by word; goes on after the first one when told so."""

    def __init__(self) -> None:
        super().__init__(MockLMConfig())
        self.streamed: list[bool] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        self.streamed.append(on_token is not None)
        answer = f"You said {messages[-1].content}. More?\x1b[31m"
        for number, word in enumerate(answer.split(" ")):
            if on_token is not None:
                on_token(f"{' ' if number else ''}{word}", StreamEventType.TEXT)
            assert self.go_on.wait(60)
        return LLMResponse(message=answer, model="mock")


WRITER = Writer()


def _task(name: str, **settings: bool) -> Task:
    agent = ChatAgent(ChatAgentConfig(name=name, llm=WRITER.config))
    agent.llm = WRITER
    return Task(agent, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    app = App("tests")
    app.task(name="asking")(lambda: _task("Billing"))
    app.task(name="keeping")(lambda: _task("desk", interactive=False, single_round=True, restart=False))
    folder = tmp_path_factory.mktemp("server")
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, app) as made:
        yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    WRITER.streamed.clear()
    with Client(server.url) as made:
        yield made


class Talk:
    """A chat at a terminal at which these lines are typed; what was shown, and the exit code."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, typed: str, chat: Chat, message: str | None, screen: io.StringIO
    ) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "stdin", Tty(typed))
        with redirect_stdout(screen):
            self.code = chat.hold(message)
        self.shown = screen.getvalue()


MORE = r"More?\x1b[31m"


def test_an_answer_appears_once_while_it_is_written(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(monkeypatch, "blue\nq\n", Chat(client=client, task="asking"), "red", Tty())

    assert talk.shown == (
        f"* (Billing) LLM: You said red. {MORE}\nBilling asks (q or x to leave): "
        f"* (Billing) LLM: You said blue. {MORE}\nBilling asks (q or x to leave): "
    )
    assert (talk.code, WRITER.streamed) == (0, [True, True])


def test_an_unknown_task_is_told_before_a_message_is_asked_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Tty()

    with pytest.raises(UnknownTaskError, match="knows no task 'nope'; there are: asking, keeping"):
        Talk(monkeypatch, "hello\n", Chat(client=client, task="nope"), None, screen)
    assert screen.getvalue() == ""


def test_the_beginning_of_an_answer_is_there_before_its_end(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Released(Tty):
        def write(self, text: str, /) -> int:
            if "You" in text:  # the model goes on only once its first word was shown
                WRITER.go_on.set()
            return super().write(text)

    WRITER.go_on.clear()

    talk = Talk(monkeypatch, "q\n", Chat(client=client, task="asking"), "red", Released())

    assert talk.shown.startswith(f"* (Billing) LLM: You said red. {MORE}\n")


def test_without_a_terminal_answers_are_plain_text_and_not_streamed_to_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(monkeypatch, "", Chat(client=client, task="keeping"), "red", io.StringIO())

    assert talk.shown.startswith(f"* (desk) LLM: You said red. {MORE}\nYou (q or x to leave): ")
    assert "\x1b" not in talk.shown
    assert WRITER.streamed == [False]


def test_leaving_keeps_the_run_waiting_and_says_how_to_come_back(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = Talk(monkeypatch, "q\n", Chat(client=client, task="asking", url="http://there:1"), "red", Tty())
    told = capsys.readouterr().err
    found = re.search(r"To come back: turnwise chat asking --run (run_\w+) --url http://there:1\n", told)
    assert found is not None, told
    run = found[1]
    assert f"To end it: turnwise cancel {run}" in told
    assert (left.code, client.run(run).status) == (0, "waiting")

    back = Talk(monkeypatch, "green\nx\n", Chat(client=client, task="asking", run=run), None, Tty())

    assert back.shown.startswith(
        f"\nYou said red. {MORE}\nBilling asks (q or x to leave): * (Billing) LLM: You said green."
    )
    client.cancel(run)


def test_a_session_goes_on_with_its_open_question(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    Talk(monkeypatch, "q\n", Chat(client=client, task="asking", session="s1"), "red", Tty())

    back = Talk(monkeypatch, "", Chat(client=client, task="asking", session="s1"), "green", Tty())

    assert back.shown.startswith(f"* (Billing) LLM: You said green. {MORE}\nBilling asks")
    [run] = client.runs(session="s1").items
    client.cancel(run.id)


def test_a_message_is_no_answer_to_the_question_of_another_task(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(monkeypatch, "q\n", Chat(client=client, task="asking", session="s2"), "red", Tty())
    [run] = client.runs(session="s2").items
    there = f"a run of task asking that waits for an answer; to answer: turnwise chat asking --run {run.id};"

    with pytest.raises(ConfigurationError, match=f"the session s2 is held by {run.id}, {there}"):
        Talk(monkeypatch, "", Chat(client=client, task="keeping", session="s2"), "yes", Tty())

    assert [(one.id, one.status) for one in client.runs(session="s2").items] == [(run.id, "waiting")]
    client.cancel(run.id)


def test_without_standard_input_a_chat_is_left(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as here:
        here.setattr(sys, "stdin", None)
        codes = [Chat(client=client, task="asking").hold(message) for message in (None, "red")]

    assert codes == [0, 0]
    found = re.search(r"The run waits. To come back: turnwise chat asking --run (run_\w+)\n", capsys.readouterr().err)
    assert found is not None
    assert client.run(found[1]).status == "waiting"
    client.cancel(found[1])


def test_a_chat_tells_how_to_go_on_with_its_session(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Talk(monkeypatch, "\nblue\nq\n", Chat(client=client, task="keeping"), "red", Tty())
    told = capsys.readouterr().err
    assert re.fullmatch(r"To go on: turnwise chat keeping --session chat_\w+\n", told)

    Talk(monkeypatch, "q\n", Chat(client=client, task="keeping"), None, Tty())
    assert capsys.readouterr().err == ""


def test_a_chat_that_is_refused_a_message_tells_how_to_go_on(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    submit, sent = client.submit, []

    def refused_later(*given: Any, **named: Any) -> Any:
        sent.append(named["session_id"])
        if len(sent) > 1:
            raise QuotaExceededError("away for a moment")
        return submit(*given, **named)

    monkeypatch.setattr(client, "submit", refused_later)
    with pytest.raises(QuotaExceededError):
        Talk(monkeypatch, "blue\n", Chat(client=client, task="keeping"), "red", Tty())

    assert capsys.readouterr().err == f"To go on: turnwise chat keeping --session {sent[0]}\n"


def test_an_interrupt_during_an_answer_leaves_the_run_going_on(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Tty):
        def write(self, text: str, /) -> int:
            written = super().write(text)
            if "You" in text:
                raise KeyboardInterrupt
            return written

    WRITER.go_on.clear()
    try:
        talk = Talk(monkeypatch, "", Chat(client=client, task="asking"), "red", Interrupting())
    finally:
        WRITER.go_on.set()

    assert (talk.code, talk.shown) == (130, "* (Billing) LLM: You  [interrupted]\n")
    told = capsys.readouterr().err
    assert "The run goes on. To come back: turnwise chat asking --run run_" in told
    client.cancel(re.findall(r"run_\w+", told)[0])


def test_a_run_of_another_task_or_one_that_has_ended_is_refused(terminal: Terminal, server: EmbeddedServer) -> None:
    with Client(server.url) as client:
        run = client.submit("keeping", "red", wait=20).id

    ended = terminal.run("chat", "keeping", "--run", run, "--url", server.url, code=2)
    other = terminal.run("chat", "asking", "--run", run, "--url", server.url, code=2)
    both = terminal.run("chat", "asking", "--run", run, "--session", "s", "--url", server.url, code=2)

    assert f"{run} has ended, see: turnwise show {run}" in ended
    assert f"{run} is a run of task keeping, not of asking" in other
    assert "give --run or --session, not both" in " ".join(both.split())


def test_who_reads_the_events_alone_has_no_model_stream_that_leaves_it_open(client: Client) -> None:
    run = client.submit("keeping", "red")

    assert all(isinstance(event, EventView) for event in client.events(run.id))
    assert WRITER.streamed == [False]


def test_who_asks_for_text_has_models_stream_that_leave_it_open(client: Client) -> None:
    run = client.submit("keeping", "red", watch=True)

    seen = [event.type for event in client.events(run.id, text=True)]
    assert (WRITER.streamed, "llm.delta" in seen, seen) == ([True], True, seen)
