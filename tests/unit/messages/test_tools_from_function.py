"""A typed function as a tool."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from turnwise import ChatAgent, ChatAgentConfig, ChatDocMetaData, ChatDocument, Entity, MockLMConfig, Task, ToolMessage
from turnwise.errors import ConfigurationError
from turnwise.messages.wire import decode_tool, encode_tool

if TYPE_CHECKING:
    from decimal import Decimal

    from turnwise.agents.agent import Agent


class Unit(Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


class Place(BaseModel):
    """Where."""

    city: str
    country: str = "GB"


def weather(
    place: Place,
    day: date,
    unit: Unit = Unit.CELSIUS,
    detail: Literal["short", "long"] = "short",
    hours: list[int] | None = None,
) -> str:
    """The weather at a place.

    Only for days to come.

    Args:
        place: The place to look at,
            with its country.
        day: Day of the forecast.
        hours (list[int]): Hours of interest.

    Returns:
        A sentence.
    """
    return f"{place.city} ({place.country}) on {day:%d %b} in {unit.value}, {detail}, {hours}"


def handled(tool: type[ToolMessage], text: str, **config: Any) -> str:
    agent = ChatAgent(ChatAgentConfig(name="Bot", **config))
    agent.enable_message(tool)
    doc = agent.agent_response(from_llm(text))
    assert doc is not None
    return doc.content


def from_llm(text: str) -> ChatDocument:
    return ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.LLM, tools_from_agent=True))


def test_the_signature_gives_the_fields_and_the_docstring_the_words() -> None:
    tool = ToolMessage.from_function(weather)

    spec = tool.llm_function_schema()
    properties = spec.parameters["properties"]

    assert (tool.name(), tool.__name__, tool.__module__) == ("weather", "Weather", __name__)
    assert spec.description == "The weather at a place.\n\nOnly for days to come."
    assert spec.parameters["required"] == ["place", "day"]
    assert properties["place"]["description"] == "The place to look at, with its country."
    assert properties["day"] == {"type": "string", "format": "date", "description": "Day of the forecast."}
    assert properties["detail"] == {"type": "string", "enum": ["short", "long"], "default": "short"}
    assert properties["hours"]["description"] == "Hours of interest."
    assert set(spec.parameters["$defs"]) == {"Place", "Unit"}


def test_handling_the_tool_calls_the_function_with_values_of_its_types() -> None:
    text = '{"request": "weather", "place": {"city": "Rome"}, "day": "2031-02-03", "unit": "F", "hours": ["7"]}'

    assert handled(ToolMessage.from_function(weather), text) == "Rome (GB) on 03 Feb in F, short, [7]"


def numpy_style(a: int, b: int = 2) -> int:
    """Add.

    Parameters
    ----------
    a : int
        First number.
    b
        Second number.
    """
    return a + b


def sphinx_style(a: int, b: int = 2) -> int:
    """Add.

    :param a: First number.
    :param int b: Second number.
    :returns: The sum.
    """
    return a + b


@pytest.mark.parametrize("function", [numpy_style, sphinx_style])
def test_docstrings_of_other_styles_are_read_too(function: Callable[..., int]) -> None:
    tool = ToolMessage.from_function(function)

    assert tool.default_value("purpose") == "Add."
    assert [tool.model_fields[name].description for name in "ab"] == ["First number.", "Second number."]


def stated(
    a: Annotated[int, Field(description="From the field", ge=1)],
    b: Annotated[int, "From the annotation"] = 2,
    c: int = Field(default=3, description="From the default"),
) -> int:
    """Add.

    Args:
        a: From the docstring
        b: From the docstring
        c: From the docstring
    """
    return a + b + c


def test_a_description_in_the_annotation_or_default_wins_and_constraints_hold() -> None:
    tool = ToolMessage.from_function(stated, name="add_up", purpose="To add.")

    assert [tool.model_fields[name].description for name in "abc"] == [
        "From the field",
        "From the annotation",
        "From the default",
    ]
    assert (tool.name(), tool.default_value("purpose")) == ("add_up", "To add.")
    assert handled(tool, '{"request": "add_up", "a": 1}') == "6"
    assert "field `a`: Input should be greater than or equal to 1" in handled(tool, '{"request": "add_up", "a": 0}')


def test_it_is_a_decorator_too() -> None:
    @ToolMessage.from_function
    def double(x: float) -> float:
        return 2 * x

    assert handled(double, '{"request": "double", "x": 1.5}') == "3.0"


def test_an_async_function_is_awaited_in_an_async_run_and_waited_for_in_a_synchronous_one() -> None:
    async def fetch(key: str) -> str:
        """Fetch."""
        await asyncio.sleep(0)
        return f"value of {key}"

    tool = ToolMessage.from_function(fetch)
    agent = ChatAgent()
    agent.enable_message(tool)
    message = from_llm('{"request": "fetch", "key": "k"}')

    answers = agent.agent_response(message), asyncio.run(agent.agent_response_async(message))

    assert [answer.content for answer in answers if answer] == ["value of k"] * 2


def with_agent(x: int, who: ChatAgent, message: ChatDocument | None = None) -> str:
    return f"{x} {who.config.name} {message.metadata.sender.value if message else None}"


def with_deferred(x: int, who: Agent) -> str:
    return f"{x} {who.config.name} LLM"


def with_names(x: int, agent, chat_doc) -> str:  # type: ignore[no-untyped-def]
    return f"{x} {agent.config.name} {chat_doc.metadata.sender.value}"


@pytest.mark.parametrize("function", [with_agent, with_deferred, with_names])
def test_agent_and_message_are_given_by_the_framework_not_by_the_model(function: Callable[..., str]) -> None:
    tool = ToolMessage.from_function(function, name="show")

    assert list(tool.llm_function_schema().parameters["properties"]) == ["x"]
    assert handled(tool, '{"request": "show", "x": 4}') == "4 Bot LLM"


def test_a_parameter_called_agent_of_another_type_is_the_models() -> None:
    def forward(agent: str) -> str:
        return f"to {agent}"

    assert handled(ToolMessage.from_function(forward), '{"request": "forward", "agent": "Ann"}') == "to Ann"


def test_a_parameter_that_is_none_by_default_may_be_left_out() -> None:
    def find(text: str, limit: int = None) -> str:  # type: ignore[assignment]  # noqa: RUF013 - many write it so
        return f"{text} {limit}"

    tool = ToolMessage.from_function(find)

    assert handled(tool, '{"request": "find", "text": "a"}') == "a None"
    assert handled(tool, '{"request": "find", "text": "a", "limit": 3}') == "a 3"


def test_names_that_tools_need_get_an_underscore_and_others_stay() -> None:
    def user(id: int, name: str, handle: str, model_dump: str, _x: int, id_: int = 0, schema: str = "s") -> str:
        return f"{id} {name} {handle} {model_dump} {_x} {id_} {schema}"

    tool = ToolMessage.from_function(user)

    assert list(tool.llm_function_schema().parameters["properties"]) == [
        *["id__", "name", "handle_", "dump_", "x", "id_", "schema"]
    ]
    assert (
        handled(tool, '{"request": "user", "id__": 1, "name": "Ann", "handle_": "h", "dump_": "d", "x": 2, "id_": 5}')
        == "1 Ann h d 2 5 s"
    )
    assert tool.name() == "user"


def test_positional_only_parameters_partials_methods_and_callables_work() -> None:
    def power(base: int, /, exponent: int) -> int:
        return int(base**exponent)

    class Counter:
        start = 10

        def count(self, by: int) -> int:
            return self.start + by

        def __call__(self, by: int) -> int:
            return self.start + 2 * by

    square = ToolMessage.from_function(functools.partial(power, exponent=2), name="square")

    assert handled(ToolMessage.from_function(power), '{"request": "power", "base": 2, "exponent": 3}') == "8"
    assert handled(square, '{"request": "square", "base": 3}') == "9"
    assert handled(ToolMessage.from_function(Counter().count), '{"request": "count", "by": 1}') == "11"
    assert handled(ToolMessage.from_function(Counter(), name="twice"), '{"request": "twice", "by": 1}') == "12"


def anything(*things: int) -> None:
    pass


def whatever(**things: int) -> None:
    pass


def untyped(x) -> None:  # type: ignore[no-untyped-def]
    pass


def unresolved(x: Decimal) -> None:
    pass


def worded(x: "the whole message") -> None:  # type: ignore[valid-type]  # noqa: F722
    pass


class Opaque:
    pass


def opaque(x: Opaque) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (anything, r"'anything': a model cannot be told what to give for `\*things: 'int'`; name and annotate"),
        (whatever, r"'whatever'.*`\*\*things: 'int'`"),
        (untyped, r"'untyped': parameter 'x' has no type; annotate it, for instance `x: str`"),
        (unresolved, r"'unresolved': the type of parameter 'x' is not known: .*Decimal.*outside of TYPE_CHECKING"),
        (worded, r"'worded': the annotation of parameter 'x' is not a type .SyntaxError.*Annotated"),
        (opaque, r"'opaque': a type cannot be that of a field: .*Opaque"),
        (lambda: None, r"'<lambda>' cannot be a tool's name.*pass name="),
    ],
)
def test_a_function_that_no_model_could_be_told_of_is_refused(function: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        ToolMessage.from_function(function)


def test_it_crosses_processes_by_its_name() -> None:
    tool = ToolMessage.from_function(weather)
    sent = tool.model_validate({"place": {"city": "Rome"}, "day": "2031-02-03", "unit": "F"})

    received = decode_tool(encode_tool(sent), {tool.name(): tool})

    assert received == sent


def test_a_subclass_passes_on_what_it_declares() -> None:
    class Short(ToolMessage):
        request: str = ""
        _max_result_tokens = 2
        _allow_llm_use = False

    def long(x: int) -> str:
        return "word " * 50

    tool = Short.from_function(long)
    agent = ChatAgent()
    agent.enable_message(tool)

    assert issubclass(tool, Short)
    assert "[truncated" in handled(tool, '{"request": "long", "x": 1}')
    assert agent.toolbox.usable == set()


def test_a_task_uses_it_like_any_tool() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    replies = {"2 and 3": '{"request": "add", "a": 2, "b": 3}', "5": "DONE It is 5."}
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_dict=replies)))
    agent.enable_message(ToolMessage.from_function(add))

    result = Task(agent, interactive=False).run("2 and 3")

    assert result is not None
    assert result.content == "It is 5."


def test_a_field_named_like_a_method_of_tools_is_required_without_a_default() -> None:
    with pytest.warns(UserWarning, match="shadows"):

        class Greet(ToolMessage):
            request: str = "greet"
            name: str  # type: ignore[assignment]

    assert Greet.llm_function_schema().parameters["required"] == ["name"]
    assert Greet.default_value("request") == "greet"
