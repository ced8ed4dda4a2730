"""Fields called `recipient` that are data, and address no one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp.server import MCPServer
from pydantic import BaseModel
from tests.support.every_way import results
from tests.support.mcp_calls import echoing

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    LLMFunctionCall,
    LLMResponse,
    MCPTools,
    MockLMConfig,
    OpenAIToolCall,
    Task,
    ToolMessage,
    XMLToolMessage,
)
from turnwise.messages.tool_parsing import for_agent


class Letter(BaseModel):
    recipient: str
    body: str


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To send a note with <text>."
    text: str

    def handle(self) -> str:
        return f"DONE noted {self.text}"


LETTER = '{"recipient": "Bob", "body": "Hello"}'


def writer(said: str = LETTER) -> Task:
    agent = ChatAgent(ChatAgentConfig(name="Writer", llm=MockLMConfig(default_response=said), output_format=Letter))
    return Task(agent, interactive=False, single_round=True)


def test_the_recipient_of_an_answer_in_a_format_is_a_field_of_it() -> None:
    said = writer().run("Write to Bob.")
    assert said is not None
    assert (said.metadata.recipient, said.content_any) == ("", Letter(recipient="Bob", body="Hello"))
    assert writer()[Letter].run("Write to Bob.") == Letter(recipient="Bob", body="Hello")


def test_a_caller_gets_the_answer_of_a_sub_task(tmp_path: Path) -> None:
    def make() -> Task:
        model = MockLMConfig(response_fn=lambda text: f"DONE got {text}" if text == LETTER else "Write to Bob.")
        task = Task(ChatAgent(ChatAgentConfig(name="Boss", llm=model)), interactive=False)
        task.add_sub_task(writer())
        return task

    assert results(make, tmp_path) == [f"got {LETTER}"] * 3


def test_a_task_gets_the_answer_of_the_one_before() -> None:
    reader = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: f"read {text}")))
    said = Task(reader, interactive=False, single_round=True).run(writer().run("Write to Bob."))
    assert said is not None
    assert said.content == f"read {LETTER}"


@pytest.mark.parametrize("said", [f"TO[Clerk]: {LETTER}", '{"request": "note", "text": "x", "recipient": "Clerk"}'])
def test_a_text_that_is_addressed_and_a_tool_for_another_are_so_under_a_format_too(said: str) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response=said), output_format=Letter))
    agent.enable_message(Note, require_recipient=True)
    doc = agent.llm_response("go")
    assert doc is not None
    assert doc.metadata.recipient == "Clerk"


def test_without_a_format_the_field_addresses() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response=LETTER)))
    doc = agent.llm_response("go")
    assert doc is not None
    assert doc.metadata.recipient == "Bob"


POST = MCPServer("post")


@POST.tool(name="mail")
def mail_of_server(recipient: str, text: str) -> str:
    """Send a mail."""
    return f"sent {text} to {recipient}"


def mail(recipient: str, text: str) -> str:
    """Send a mail."""
    return f"sent {text} to {recipient}"


@pytest.fixture(scope="module")
def of_server() -> Iterator[type[ToolMessage]]:
    with MCPTools(POST) as server:
        yield server.tools()[0]


MAIL = {"recipient": "bob@example.org", "text": "hi"}


def using(name: str, *, api: bool) -> str | LLMResponse:
    """Return how a model uses the tool: as a call, or as text."""
    if not api:
        return json.dumps({"request": name, **MAIL})
    function = LLMFunctionCall(name=name, arguments=MAIL)
    return LLMResponse(message=None, oai_tool_calls=[OpenAIToolCall(id="c", function=function)])


XML = "<tool><request>mail</request><recipient>bob@example.org</recipient><text>hi</text></tool>"


def clerk(tool: type[ToolMessage], said: str | LLMResponse) -> Callable[[], Task]:
    """Return a maker of a clerk who says `said`, and then the result of his tool."""

    def make() -> Task:
        model = MockLMConfig(response_fn=lambda text: said if text == "go" else f"DONE {text}")
        api = not isinstance(said, str)
        agent = ChatAgent(ChatAgentConfig(name="Clerk", llm=model, use_functions_api=api, use_tools=not api))
        agent.enable_message(tool)
        return Task(agent, interactive=False)

    return make


@pytest.mark.parametrize("api", [False, True])
def test_a_tool_of_a_server_may_have_an_argument_called_recipient(
    of_server: type[ToolMessage], api: bool, tmp_path: Path
) -> None:
    assert results(clerk(of_server, using("mail", api=api)), tmp_path) == ["sent hi to bob@example.org"] * 3


@pytest.mark.parametrize("api", [False, True])
def test_a_function_may_have_a_parameter_called_recipient(api: bool, tmp_path: Path) -> None:
    tool = ToolMessage.from_function(mail)
    assert results(clerk(tool, using("mail", api=api)), tmp_path) == ["sent hi to bob@example.org"] * 3


def test_it_may_be_written_as_xml(tmp_path: Path) -> None:
    tool = XMLToolMessage.from_function(mail)
    assert results(clerk(tool, XML), tmp_path) == ["sent hi to bob@example.org"] * 3


@pytest.mark.parametrize("api", [False, True])
def test_a_schema_that_does_not_list_it_may_allow_it(api: bool) -> None:
    with echoing({"additionalProperties": True}) as server:
        said_last = clerk(server.tools()[0], using("echo", api=api))().run("go")
    assert said_last is not None
    assert json.loads(said_last.content) == MAIL


def test_one_that_requires_a_recipient_is_for_that_agent_alone() -> None:
    def plain(text: str) -> str:
        return text

    tool = ToolMessage.from_function(plain).require_recipient()
    assert not for_agent(tool(recipient="other", text="x"), "clerk")  # type: ignore[call-arg]
