"""Formats of answers in served runs, where each turn has a fresh agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr, create_model
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, ToolMessage
from turnwise.messages.return_value import value_of_type
from turnwise.messages.wire import decode_document
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord
from turnwise.testing.fake_llm.server import FakeLLMServer


class City(BaseModel):
    place: str
    people: int


class CityTool(ToolMessage):
    request: str = "city"
    purpose: str = "To tell of a city."
    place: str
    people: int

    def handle(self) -> str:
        return f"DONE {self.place} has {self.people}."


class Begin(ToolMessage):
    request: str = "begin"
    purpose: str = "To begin."


ROME = {"place": "Rome", "people": 2_800_000}
RULES: list[dict[str, Any]] = [
    {"match": "is not in the format that it has to have, `int`", "reply": 'DONE {"value": 7}'},
    {"match": "is not in the format that it has to have, `list", "reply": 'DONE {"value": [1, 2]}'},
    {"match": "hello", "reply": '{"request": "begin"}'},
    {"match": "is not in the format", "reply": "DONE " + json.dumps(ROME)},
    {"match": "go on", "reply": "I would rather talk."},
    {"match": "city", "reply": json.dumps({"request": "city"} | ROME)},
]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


class Clerk(ChatAgent):
    """Decides in a handler what its model is to answer with."""

    format: Callable[[ChatAgent], type[Any] | None] = staticmethod(lambda agent: City)

    def begin(self, msg: Begin) -> str:
        self.set_output_format(self.format(self))
        return "go on"


def clerk_app(
    server: FakeLLMServer,
    kind: type[ChatAgent],
    *tools: type[ToolMessage],
    made: Callable[[ChatAgent], None] = lambda _agent: None,
    **settings: Any,
) -> App:
    app = App("formats")

    @app.task
    def desk() -> Task:
        llm = OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), supports_json_schema=True)
        agent = kind(ChatAgentConfig(name="Clerk", llm=llm, **settings))
        agent.enable_message([Begin, *tools])
        made(agent)
        return Task(agent, interactive=False)

    return app


def run(store: Store, app: App, text: str = "hello") -> RunRecord:
    with Desk(store, app) as desk:
        return desk.go_on(desk.submit("desk", text))


def formats(server: FakeLLMServer) -> list[str | None]:
    """The name of the format that each request asked for."""
    asked = [request.response_format for request in server.requests()]
    return [wanted["json_schema"]["name"] if wanted else None for wanted in asked]


def test_a_format_that_a_handler_sets_lasts_and_a_bad_answer_is_given_again(
    store: Store, server: FakeLLMServer
) -> None:
    before = len(server.requests())

    ended = run(store, clerk_app(server, Clerk))

    assert ended.status == "completed", ended.error
    assert formats(server)[before:] == [None, "City", "City"]
    assert ended.result is not None
    assert value_of_type(decode_document(ended.result, {}), City) == City(place="Rome", people=2_800_000)


def test_a_format_of_the_configuration_holds_and_its_tool_is_handled(store: Store, server: FakeLLMServer) -> None:
    before = len(server.requests())

    ended = run(store, clerk_app(server, ChatAgent, output_format=CityTool), "city?")

    assert ended.status == "completed", ended.error
    assert formats(server)[before:] == ["city"]
    assert ended.result is not None
    assert ended.result["content"] == "Rome has 2800000."


def test_a_handler_may_ask_for_a_plain_value(store: Store, server: FakeLLMServer) -> None:
    class Counting(Clerk):
        format = staticmethod(lambda agent: int)

    class Listing(Clerk):
        format = staticmethod(lambda agent: list[int])

    counted = run(store, clerk_app(server, Counting))
    listed = run(store, clerk_app(server, Listing))

    assert counted.status == "completed", counted.error
    assert counted.result is not None
    assert value_of_type(decode_document(counted.result, {}), int) == 7
    assert listed.error is not None
    assert "set it in the factory, or set a model with a field of that type" in listed.error.message


def test_a_handler_may_take_the_format_away(store: Store, server: FakeLLMServer) -> None:
    class Free(Clerk):
        format = staticmethod(lambda agent: None)

    before = len(server.requests())

    ended = run(store, clerk_app(server, Free, output_format=Begin))

    assert formats(server)[before:] == ["begin", None]
    assert ended.status_code == "STALLED"


def test_a_format_that_no_other_process_would_find_ends_the_run_and_says_so(
    store: Store, server: FakeLLMServer
) -> None:
    class Local(BaseModel):
        place: str

    class UsesLocal(Clerk):
        format = staticmethod(lambda agent: Local)

    class UsesUnknown(Clerk):
        format = staticmethod(lambda agent: CityTool)

    local = run(store, clerk_app(server, UsesLocal))
    unknown = run(store, clerk_app(server, UsesUnknown))

    assert local.error is not None
    assert "define the class at the top level of a module" in local.error.message
    assert unknown.error is not None
    assert "no agent of the application knows it" in unknown.error.message


def test_two_formats_of_one_name_are_told_apart(store: Store, server: FakeLLMServer) -> None:
    made = [create_model("Made", __module__=__name__, **{name: (int, ...)}) for name in ("first", "second")]  # type: ignore[call-overload]

    class Swaps(Clerk):
        format = staticmethod(lambda agent: made[1])

    class Stays(Clerk):
        format = staticmethod(lambda agent: made[0])

    swapped = run(store, clerk_app(server, Swaps, output_format=made[0]))
    stayed = run(store, clerk_app(server, Stays, output_format=made[0]))

    assert swapped.error is not None
    assert "define the class at the top level of a module" in swapped.error.message
    assert stayed.error is None


@pytest.mark.parametrize("of_configuration", [True, False])
def test_a_handler_may_set_the_factorys_type_with_other_options(
    store: Store, server: FakeLLMServer, of_configuration: bool
) -> None:
    class Silent(Clerk):
        def begin(self, msg: Begin) -> str:
            self.set_output_format(list[int], instructions=False)
            return "go on"

    before = len(server.requests())
    if of_configuration:
        ended = run(store, clerk_app(server, Silent, output_format=list[int]))
    else:
        ended = run(store, clerk_app(server, Silent, made=lambda agent: agent.set_output_format(list[int])))

    assert ended.status == "completed", ended.error
    assert ended.result is not None
    assert value_of_type(decode_document(ended.result, {}), list[int]) == [1, 2]
    assert formats(server)[before:] == ["Answer"] * 3
    told = ["FORMAT OF YOUR ANSWERS" in str(request.messages[0]) for request in server.requests()[before:]]
    assert told == [True, False, False]


def test_what_a_copy_with_a_format_uses_is_counted(store: Store, server: FakeLLMServer) -> None:
    class Asks(ChatAgent):
        def begin(self, msg: Begin) -> str:
            answer = self[CityTool].llm_response("Which city?")
            return f"DONE {answer.content_any.place}" if answer is not None else ""

    ended = run(store, clerk_app(server, Asks))

    assert ended.status == "completed", ended.error
    assert ended.result is not None
    assert ended.result["content"] == "Rome"
    first, second = server.requests()[-2:]
    assert ended.prompt_tokens > len(json.dumps(first.messages)) / 4 + len(json.dumps(second.messages)) / 4
