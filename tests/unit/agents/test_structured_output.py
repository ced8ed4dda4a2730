"""Answers that have to be objects of a class."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    MockLMConfig,
    OpenAIGPTConfig,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.errors import ConfigurationError
from turnwise.models.openai.chat import OpenAIGPT
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.server import FakeLLMServer


class Country(BaseModel):
    """A country."""

    place: str
    continent: str | None = None


class City(BaseModel):
    place: str
    people: int = Field(ge=0)
    country: Country | None = None


class Reading(BaseModel):
    metres: float
    more: dict[str, Any] = Field(default_factory=dict)


class CityTool(ToolMessage):
    request: str = "city"
    purpose: str = "To tell of a city with <place> and <people>."
    place: str
    people: int

    def handle(self) -> str:
        return f"DONE {self.place} has {self.people}."


ROME = {"place": "Rome", "people": 2_800_000}
RULES: list[dict[str, Any]] = [
    {"match": "is not in the format|was an error in your use", "reply": json.dumps({"request": "city", **ROME})},
    {"match": "as a call", "reply": {"tool_calls": [{"name": "city", "arguments": ROME}]}},
    {"match": "wordy", "reply": f"It is this: {json.dumps(ROME)} - nice, is it not?"},
    {"match": "badly", "reply": '{"request": "city", "place": "Rome", "people": "many"}'},
    {"match": "town", "reply": json.dumps({"request": "town", **ROME})},
    {"match": "nothing", "reply": "I do not feel like it."},
    {"match": "", "reply": json.dumps(ROME)},
]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


def agent_of(server: FakeLLMServer, *, schemas: bool = True, **settings: Any) -> ChatAgent:
    llm = OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), supports_json_schema=schemas)
    return ChatAgent(ChatAgentConfig(llm=llm, **settings))


def sent(server: FakeLLMServer) -> ChatRequest:
    return server.requests()[-1]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_model_that_can_is_held_to_the_schema_and_its_answer_read(server: FakeLLMServer, asynchronous: bool) -> None:
    agent = agent_of(server, output_format=City)

    answer = asyncio.run(agent.llm_response_async("Rome?")) if asynchronous else agent.llm_response("Rome?")

    assert answer is not None
    assert answer.content_any == City(place="Rome", people=2_800_000)
    wanted = sent(server).response_format
    assert wanted is not None
    assert wanted["type"] == "json_schema"
    assert (wanted["json_schema"]["name"], wanted["json_schema"]["strict"]) == ("City", True)
    schema = sent(server).output_schema
    assert schema is not None
    assert schema["required"] == ["place", "people", "country"]
    assert schema["additionalProperties"] is False


def test_the_schema_is_in_the_system_message_unless_that_is_switched_off(server: FakeLLMServer) -> None:
    agent = agent_of(server, output_format=City)
    agent.llm_response("Rome?")
    assert '"people"' in sent(server).system

    agent.set_output_format(City, instructions=False)
    agent.llm_response("Rome?")
    assert '"people"' not in sent(server).system


def test_a_model_that_can_not_is_only_told(server: FakeLLMServer) -> None:
    agent = agent_of(server, schemas=False, output_format=City)

    answer = agent.llm_response("be wordy")

    assert sent(server).response_format is None
    assert '"people"' in sent(server).system
    assert answer is not None
    assert answer.content_any == City(place="Rome", people=2_800_000)


def test_a_tool_is_attached_to_the_answer_and_handled(server: FakeLLMServer) -> None:
    agent = agent_of(server, output_format=CityTool)

    answer = agent.llm_response("Rome?")
    result = Task(agent, interactive=False).run("Rome?")

    assert answer is not None
    assert [tool.place for tool in answer.tool_messages if isinstance(tool, CityTool)] == ["Rome"]
    assert answer.content_any == answer.tool_messages[0]
    assert result is not None
    assert result.content == "Rome has 2800000."


def test_a_tool_is_neither_used_nor_handled_if_so_set(server: FakeLLMServer) -> None:
    agent = agent_of(server)

    agent.set_output_format(CityTool, use=False, handle=False)

    assert "city" not in agent.toolbox.usable | agent.toolbox.handled
    answer = agent.llm_response("Rome?")
    assert answer is not None
    assert isinstance(answer.content_any, CityTool)


def test_without_a_format_everything_is_as_before(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    before = agent.toolbox.dump() | {"known": []}

    agent.set_output_format(CityTool)
    meanwhile = agent.output_format
    agent.set_output_format(None)

    assert (meanwhile, agent.output_format) == (CityTool, None)
    assert agent.toolbox.dump() | {"known": []} == before
    answer = agent.llm_response("Rome?")
    assert sent(server).response_format is None
    assert '"people"' not in sent(server).system
    assert answer is not None
    assert answer.content_any == answer.content


def test_functions_of_the_api_are_left_out_unless_they_are_wanted(server: FakeLLMServer) -> None:
    agent = agent_of(server, use_functions_api=True, use_tools=False)
    agent.enable_message(CityTool)

    agent.set_output_format(City)
    agent.llm_response("Rome?")
    assert sent(server).tool_names == []

    agent.set_output_format(City, force_tools=False)
    agent.llm_response("Rome?")
    assert sent(server).tool_names == ["city"]
    assert sent(server).response_format is not None


@pytest.mark.parametrize("legacy", [False, True])
def test_where_no_schema_is_held_to_the_tool_is_called_as_the_only_function(
    server: FakeLLMServer, legacy: bool
) -> None:
    agent = agent_of(server, schemas=False, use_functions_api=True, use_tools_api=not legacy, output_format=CityTool)

    result = Task(agent, interactive=False).run("as a call")

    body = sent(server).model_dump()
    assert sent(server).tool_names == ["city"]
    forced = body["function_call"] if legacy else body["tool_choice"]["function"]
    assert forced == {"name": "city"}
    assert result is not None
    assert result.content == "Rome has 2800000."


@pytest.mark.parametrize("output_format", [City, CityTool])
@pytest.mark.parametrize("text", ["badly", "nothing"])
def test_a_bad_answer_is_told_what_is_wrong_and_given_again(
    server: FakeLLMServer, output_format: type[BaseModel], text: str
) -> None:
    agent = agent_of(server, output_format=output_format)

    result = Task(agent, interactive=False).run(f"answer {text}", turns=3 if output_format is City else -1)

    assert result is not None
    assert "Rome" in result.content
    errors = [m.content for m in agent.message_history if m.role == "user"][1:]
    assert len(errors) == 1
    assert ("people" in errors[0]) == (text == "badly")


@pytest.mark.parametrize(
    ("wanted", "text", "said"),
    [
        (Reading, "about two metres", "- there is no JSON object in it"),
        (Reading, '{"metres": NaN}', "NaN and infinite numbers are not JSON"),
        (Reading, '{"metres": "inf"}', "field `metres`: it is read as a number that JSON does not have"),
        (Reading, '{"metres": 1, "more": {"n": 1e999}}', "NaN and infinite numbers are not JSON"),
        (Reading, '{"metres": 1, "more": {"n": 1' + "0" * 400 + "}}", "a number in it has more than 308 digits"),
        (Reading, '{"metres": 1, "more": ' + '{"n": ' * 70 + "1" + "}" * 71, "it is nested deeper than 64 levels"),
        (float, "nan", "NaN and infinite numbers are not JSON"),
        (list[Reading], '[{"metres": 1}, {"metres": "-Infinity"}]', "field `value.1.metres`: it is read as a number"),
        (list[float], "[1.5, Infinity]", "NaN and infinite numbers are not JSON"),
    ],
)
def test_an_answer_that_could_not_be_kept_is_told_so_and_given_again(wanted: Any, text: str, said: str) -> None:
    good = {Reading: '{"metres": 1.5}', float: "1.5", list[float]: "[1.5]"}.get(wanted, '[{"metres": 1.5}]')
    answers = iter([text])
    llm = MockLMConfig(response_fn=lambda _: next(answers, good))
    agent = ChatAgent(ChatAgentConfig(llm=llm, output_format=wanted))

    Task(agent, interactive=False).run("measure", turns=3)

    told = [m.content for m in agent.message_history if m.role == "user"][1]
    assert said in told
    assert agent.message_history[-1].content == good


def test_an_agent_in_brackets_is_a_copy_with_that_format_that_goes_on_by_itself(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    agent.llm_response("Hello")

    typed = agent[City]
    answer = typed.llm_response("Rome?")

    assert answer is not None
    assert isinstance(answer.content_any, City)
    assert agent.output_format is None
    assert len(agent.message_history) == 3
    assert [m.content for m in typed.message_history[1:]][:2] == [m.content for m in agent.message_history[1:]]
    assert len(typed.message_history) == 5
    assert agent.usage.calls == 2
    assert typed.usage.calls == 1


def test_the_tool_of_a_copys_format_is_not_enabled_in_the_agent(server: FakeLLMServer) -> None:
    agent = agent_of(server)

    typed = agent[CityTool]

    assert "city" in typed.toolbox.usable
    assert "city" not in agent.toolbox.known


def test_another_tool_of_the_same_fields_is_not_taken_for_the_format(server: FakeLLMServer) -> None:
    answer = agent_of(server, output_format=CityTool).llm_response("a town")

    assert answer is not None
    assert answer.tool_messages == []
    assert answer.content_any == answer.content


def test_a_typed_task_returns_what_the_model_was_made_to_write(server: FakeLLMServer) -> None:
    agent = agent_of(server, output_format=City)

    assert Task(agent, interactive=False, single_round=True)[City].run("Rome?") == City(place="Rome", people=2_800_000)
    assert Task(agent[CityTool], interactive=False, single_round=True)[CityTool].run("Rome?") == CityTool(
        place="Rome", people=2_800_000
    )


def test_a_typed_task_reads_a_model_from_json_and_from_plain_data() -> None:
    class Poor(ChatAgent):
        def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
            return self.create_agent_response("see the data", content_any=dict(ROME))

    text = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response=f"DONE {json.dumps(ROME)}")))

    assert Task(text, interactive=False)[City].run("Rome?") == City(place="Rome", people=2_800_000)
    assert Task(text, interactive=False)[Country].run("Rome?") == Country(place="Rome")
    data = Task(Poor(), interactive=False, single_round=True)[City].run("Rome?")
    assert data == City(place="Rome", people=2_800_000)
    assert Task(Poor(), interactive=False, single_round=True, default_return_type=CityTool).run("Rome?") is None


def test_an_answer_in_the_format_is_not_taken_for_a_tool_of_the_same_fields(server: FakeLLMServer) -> None:
    agent = agent_of(server, output_format=City)
    agent.enable_message(CityTool)

    result = Task(agent, interactive=False, single_round=True).run("Rome?")

    assert result is not None
    assert result.metadata.status is StatusCode.FIXED_TURNS
    assert result.tool_messages == []


def test_the_format_stays_with_a_clone(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    agent.set_output_format(City)

    assert agent.clone(1).output_format is City
    assert agent_of(server, output_format=City).clone(1).output_format is City


class Odd:
    """A class that JSON cannot express."""


@pytest.mark.parametrize("kind", [Odd, list[Odd], ToolMessage, "City", 5])
def test_what_can_not_be_an_answer_is_refused(server: FakeLLMServer, kind: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a type that JSON can express|has no name"):
        agent_of(server).set_output_format(kind)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, '{"value": 5}', 5),
        (int, "5", 5),
        (float, '{"value": 5}', 5.0),
        (bool, 'It is so: {"value": true}.', True),
        (bool, "no", False),
        (str, '{"value": "five"}', "five"),
        (str, "five", "five"),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (list[City], '{"value": [{"place": "Rome", "people": 3}]}', [City(place="Rome", people=3)]),
        (RootModel[list[int]], '{"value": [7]}', RootModel[list[int]]([7])),
    ],
)
def test_an_answer_may_be_a_value_of_any_type(kind: Any, text: str, value: object) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response=text)))

    answer = agent[kind].llm_response("How many?")
    assert answer is not None
    assert answer.content_any == value
    assert type(answer.content_any) is type(value)
    assert answer.content == text

    agent.set_output_format(kind)
    assert agent.output_format == kind
    assert Task(agent, interactive=False, single_round=True)[kind].run("How many?") == value


def test_a_text_that_only_looks_wrapped_is_the_result_as_it_is() -> None:
    text = '{"value": "five"}'
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response=text)))

    assert Task(agent, interactive=False, single_round=True)[str].run("How many?") == text


def test_a_wrapped_text_may_end_its_task() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response='DONE {"value": "five"}'), output_format=str))

    assert Task(agent, interactive=False)[str].run("How many?") == "five"


def test_a_model_is_held_to_the_schema_of_a_value_and_told_what_is_wrong(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    agent.set_output_format(list[int])

    agent.llm_response("hello")

    asked = server.requests()[-1].response_format
    assert asked is not None
    schema = asked["json_schema"]["schema"]
    assert schema["properties"]["value"]["items"] == {"type": "integer"}
    assert '"value"' in agent.message_history[0].content

    listing = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="[1, 2]"), output_format=list[int]))
    assert Task(listing, interactive=False, single_round=True)[list[int]].run("Which?") == [1, 2]

    plain = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="no idea"), output_format=int))
    answer = plain.llm_response("How many?")
    assert answer is not None
    told = plain.agent_response(answer)
    assert told is not None
    assert "not in the format that it has to have, `int`" in told.content


def test_a_tool_with_bad_fields_is_written_again_under_its_schema(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    agent.enable_message(CityTool)

    result = Task(agent, interactive=False).run("badly")

    assert result is not None
    assert result.content == "Rome has 2800000."
    first, second = server.requests()[-2:]
    assert first.response_format is None
    assert second.response_format is not None
    assert second.response_format["json_schema"]["name"] == "city"
    agent.llm_response(agent.create_agent_response("Rome?"))
    assert sent(server).response_format is None


def test_no_recovery_where_it_is_switched_off_or_a_human_spoke_between(server: FakeLLMServer) -> None:
    off = agent_of(server, strict_recovery=False)
    off.enable_message(CityTool)
    Task(off, interactive=False).run("badly")
    assert sent(server).response_format is None

    agent = agent_of(server)
    agent.enable_message(CityTool)
    answer = agent.llm_response("badly")
    agent.agent_response(answer)
    agent.llm_response(agent.create_user_response("Never mind."))
    assert sent(server).response_format is None


@pytest.mark.parametrize(("choice", "on_the_wire"), [("none", "none"), ("required", "required"), ("auto", None)])
def test_the_choice_of_functions_that_a_message_brings_is_sent(
    server: FakeLLMServer, choice: str, on_the_wire: str | None
) -> None:
    agent = agent_of(server, use_functions_api=True, use_tools=False)
    agent.enable_message(CityTool)

    agent.llm_response(agent.response_template(Entity.USER, "Rome?", oai_tool_choice=choice))

    assert sent(server).model_dump().get("tool_choice") == on_the_wire
    assert "city" not in sent(server).system


def test_one_function_may_be_forced_by_a_message_or_for_good(server: FakeLLMServer) -> None:
    agent = agent_of(server, use_functions_api=True)
    agent.enable_message(CityTool)
    one: dict[str, Any] = {"type": "function", "function": {"name": "city"}}

    agent.llm_response(agent.response_template(Entity.USER, "Rome?", oai_tool_choice=one))
    assert sent(server).model_dump()["tool_choice"] == one
    assert '"city"' in sent(server).system  # use_tools and use_functions_api together tell it twice

    agent.enable_message(CityTool, force=True)
    agent.llm_response("Rome?")
    assert sent(server).model_dump()["tool_choice"] == one


def test_an_agent_has_no_model_only_if_its_settings_say_so() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None))

    assert agent.llm is None
    assert agent.llm_response("hi") is None
    assert isinstance(ChatAgent().llm, OpenAIGPT)
    assert isinstance(ChatAgent(ChatAgentConfig(name="Bot")).config.llm, OpenAIGPTConfig)
