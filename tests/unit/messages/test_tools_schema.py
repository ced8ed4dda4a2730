"""The description of a tool for a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    LLMFunctionCall,
    LLMResponse,
    MockLMConfig,
    OpenAIToolCall,
    ToolMessage,
)
from turnwise.errors import ConfigurationError
from turnwise.models.mock import MockLM


class Country(BaseModel):
    code: str


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    country: Country


class Unrelated(BaseModel):
    x: int


class Move(ToolMessage):
    request: str = "move"
    purpose: str = "To move to <address>."
    address: Address
    title: str
    days: int = 3
    spare: Unrelated | None = None

    @classmethod
    def examples(cls) -> list[ToolMessage | tuple[str, ToolMessage]]:
        home = Address(street="High St", country=Country(code="GB"))
        return [cls(address=home, title="a"), ("I should move", cls(address=home, title="b"))]


class Bare(ToolMessage):
    request: str = "bare"


def titles(schema: Any) -> list[Any]:
    """Every `title` that is not the name of a property."""
    if isinstance(schema, list):
        return [t for item in schema for t in titles(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["title"]] if isinstance(schema.get("title"), str) else []
    return own + [t for item in schema.values() for t in titles(item)]


def test_the_function_schema_hides_what_every_tool_has_and_keeps_nested_definitions() -> None:
    spec = Move.llm_function_schema()
    assert (spec.name, spec.description) == ("move", "To move to <address>.")
    assert list(spec.parameters["properties"]) == ["address", "title", "days", "spare"]
    assert spec.parameters["required"] == ["address", "title"]
    assert set(spec.parameters["$defs"]) == {"Address", "Country", "Unrelated"}
    assert titles(spec.parameters) == []


def test_without_defaults_optional_fields_and_their_definitions_are_left_out() -> None:
    parameters = Move.llm_function_schema(defaults=False).parameters
    assert list(parameters["properties"]) == ["address", "title"]
    assert set(parameters["$defs"]) == {"Address", "Country"}


def test_with_request_the_schema_fixes_the_name() -> None:
    parameters = Move.llm_function_schema(request=True).parameters
    assert parameters["properties"]["request"] == {"type": "string", "enum": ["move"]}
    assert parameters["required"] == ["request", "address", "title"]
    assert Bare.llm_function_schema().parameters == {"type": "object", "properties": {}, "required": []}
    assert Bare.llm_function_schema().description == "Tool for bare"


def test_the_simple_schema_has_the_name_and_what_must_be_given() -> None:
    schema = Move.simple_schema()
    assert schema["required"] == ["request", "address", "title"]
    assert set(schema["properties"]) == {"request", "address", "title"}


def test_the_instructions_hold_name_purpose_format_and_an_example() -> None:
    text = Move.json_instructions(tool=True)
    assert text.startswith("TOOL: move\nPURPOSE: To move to <address>.\nJSON FORMAT:\n")
    body, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    assert body == {"type": "object", **Move.llm_function_schema(request=True).parameters}
    assert "EXAMPLE 1: " in text
    assert '"street": "High St"' in text
    assert "EXAMPLE" not in Bare.json_instructions()


def test_all_examples_come_with_the_thoughts_that_lead_to_them() -> None:
    text = Move.usage_examples()
    assert "EXAMPLE 1: \n{" in text
    assert "EXAMPLE 2: I should move => \n{" in text
    assert "purpose" not in text
    assert Bare.usage_examples() == ""


def test_a_required_recipient_is_a_field_that_the_model_must_fill_in() -> None:
    made = Move.require_recipient()
    assert (made.__name__, made.name()) == ("Move", "move")
    assert issubclass(made, Move)
    assert "recipient" in made.llm_function_schema().parameters["required"]
    assert made.require_recipient() is made


def test_an_agent_asked_to_require_it_tells_its_model() -> None:
    agent = ChatAgent(ChatAgentConfig(system_message="Be brief."))
    agent.enable_message(Move, require_recipient=True)
    text = agent.system_and_tools_message().content
    assert text.startswith("Be brief.")
    assert '"recipient": "<recipient>"' in text
    assert "TOOL: move" in text
    agent.disable_message_use(Move)
    assert agent.system_and_tools_message().content == "Be brief."


def test_a_default_is_told_by_name() -> None:
    assert Move.default_value("days") == 3
    assert Move.default_value("title") is None
    assert Move.default_value("no_such_field") is None


def test_a_value_is_found_among_own_and_extra_fields_and_a_flag_is_no_number() -> None:
    class Many(ToolMessage):
        request: str = "many"
        flag: bool = True
        number: int = 7
        items: list[int] = Field(default_factory=lambda: [1])

    assert Many().get_value_of_type(int) == 7
    assert Many().get_value_of_type(bool) is True
    assert Many().get_value_of_type(list) == [1]
    assert Many().get_value_of_type(str) is None


def test_a_value_of_a_type_with_parameters_is_found_by_what_it_holds() -> None:
    class Point(TypedDict):
        x: int

    class Many(ToolMessage):
        request: str = "many"
        flag: bool
        names: list[str]
        numbers: list[int]
        point: dict[str, Any]

    tool = Many(flag=True, names=["a"], numbers=[1, 2], point={"x": 1})
    assert tool.get_value_of_type(list[int]) == [1, 2]
    assert tool.get_value_of_type(list[Point]) is None
    assert tool.get_value_of_type(int | None) is None
    assert tool.get_value_of_type(Point) == {"x": 1}


class Nameless(ToolMessage):
    count: int = 1


def test_a_tool_without_a_name_is_refused_with_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match="Nameless has no name: give its field `request` a default"):
        ChatAgent().enable_message(Nameless)


def test_the_three_sets_of_an_agent_follow_what_is_enabled_and_disabled() -> None:
    agent = ChatAgent(ChatAgentConfig(enable_orchestration_tool_handling=False))
    agent.enable_message([Move, Bare], use=True, handle=False)
    assert agent.unhandled_tools() == {"move", "bare"}
    agent.enable_message_handling(Move)
    assert agent.unhandled_tools() == {"bare"}
    agent.disable_message_use_except(Bare)
    assert (agent.toolbox.usable, agent.toolbox.handled) == ({"bare"}, {"move"})
    agent.disable_message_handling()
    agent.disable_message_use()
    assert (agent.toolbox.usable, agent.toolbox.handled) == (set(), set())
    agent.enable_message(None)
    assert (agent.toolbox.usable, agent.toolbox.handled) == ({"bare", "move"}, {"bare", "move"})


def test_no_agent_can_let_a_model_use_a_tool_that_forbids_it() -> None:
    class Inner(ToolMessage):
        request: str = "inner"
        _allow_llm_use: bool = False

    class InnerStill(Inner):
        request: str = "inner_still"

    agent = ChatAgent()
    agent.enable_message([Inner, InnerStill])
    assert not {"inner", "inner_still"} & agent.toolbox.usable
    assert {"inner", "inner_still"} <= agent.toolbox.handled


class Order(ToolMessage):
    request: str = "order"
    purpose: str = "To order <what>."
    what: str
    urgently: bool = False


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("as_functions", [True, False])
def test_the_model_is_told_of_fields_with_defaults_unless_the_agent_leaves_them_out(
    told: bool, as_functions: bool
) -> None:
    said: list[str] = []

    class Listening(MockLM):
        def answer(self, messages: Any, max_tokens: int, tools: Any = None, on_token: Any = None) -> LLMResponse:
            said.append(messages[0].content + (tools.model_dump_json() if tools else ""))
            return LLMResponse(message="DONE")

    agent = ChatAgent(ChatAgentConfig(use_tools=not as_functions, use_functions_api=as_functions))
    agent.llm = Listening(MockLMConfig())
    agent.enable_message(Order, include_defaults=told)
    agent.enable_message_handling(Order)

    agent.llm_response("hello")

    assert "what" in said[0]
    assert ("urgently" in said[0]) is told


def test_what_was_said_of_tools_when_they_were_enabled_lasts_between_turns() -> None:
    class Asks(Bare):
        request: str = "asks"

        @staticmethod
        def handle_message_fallback(agent: ChatAgent, msg: Any) -> str:
            return "asked"

    class Tells(Asks):
        request: str = "tells"

    before, after = ChatAgent(), ChatAgent()
    before.enable_message([Tells, Asks])
    before.enable_message(Move, include_defaults=False, require_recipient=True)

    after.toolbox.load(before.toolbox.dump(), {tool.name(): tool for tool in (Move, Asks, Tells)})

    assert after.toolbox.dump() == before.toolbox.dump()
    assert after.toolbox.fallback is Asks.handle_message_fallback
    assert after.toolbox.known["move"] is before.toolbox.known["move"]
    assert after.toolbox.sets.bare == {"move"}


class Step(ToolMessage):
    request: str = "step"
    purpose: str = "To make a step of <size>."
    size: int


class Walk(ToolMessage):
    request: str = "walk"
    purpose: str = "To make <steps>."
    steps: list[Step]


def test_a_nested_tool_shows_what_its_writer_writes_and_fixes_its_name() -> None:
    for schema in (Walk.llm_function_schema().parameters, Walk.llm_function_schema(request=True).parameters):
        nested = schema["$defs"]["Step"]
        assert set(nested["properties"]) == {"request", "size"}
        assert nested["properties"]["request"] == {"type": "string", "enum": ["step"]}
        assert nested["required"] == ["request", "size"]
    assert "purpose" not in Walk.format_instructions()
    assert Walk.model_validate({"steps": [{"request": "step", "size": 2}]}).steps[0].size == 2


def test_a_tool_of_any_class_in_a_field_keeps_its_name_open() -> None:
    nested = AgentDoneTool.llm_function_schema().parameters["$defs"]["ToolMessage"]
    assert nested["properties"]["request"] == {"type": "string"}


class MakeNode(ToolMessage):
    request: str = "make_node"
    purpose: str = "To make a node."
    label: str = ""
    properties: dict[str, str] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("written", "made"),
    [
        (
            {"request": "make_node", "label": "a", "properties": {"name": "Ann"}},
            {"label": "a", "properties": {"name": "Ann"}},
        ),
        ({"request": "make_node", "properties": {}}, {}),
        ({"type": "object", "properties": {"request": "make_node", "label": "b"}}, {"label": "b"}),
        ({"request": "make_node", "properties": {"request": "make_node", "label": "c"}}, {"label": "c"}),
    ],
)
def test_a_field_called_properties_is_told_from_a_copy_of_the_schema(written: Any, made: dict[str, Any]) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))
    agent.enable_message(MakeNode)

    assert agent.get_tool_messages(json.dumps(written)) == [MakeNode(**made)]


def test_no_class_declares_the_field_that_holds_the_id_of_a_call() -> None:
    with pytest.raises(ConfigurationError, match=r"Delete declares the field `id`, .* give it another name"):

        class Delete(ToolMessage):
            request: str = "delete"
            id: int  # type: ignore[assignment]  # the mistake


def test_a_frozen_tool_holds_the_id_of_its_call() -> None:
    class Frozen(ToolMessage):
        model_config = ConfigDict(frozen=True)
        request: str = "frozen"
        n: int

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))
    agent.enable_message(Frozen)
    call = OpenAIToolCall(id="call_1", function=LLMFunctionCall(name="frozen", arguments={"n": 1}))

    [tool] = agent.get_tool_messages(ChatDocument(oai_tool_calls=[call], metadata=ChatDocMetaData(sender=Entity.LLM)))
    assert (tool.id, tool) == ("call_1", Frozen(n=1, id="call_1"))
