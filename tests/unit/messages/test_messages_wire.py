"""Documents and tools as JSON, and back."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from enum import Enum, IntFlag
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from turnwise import (
    AgentSendTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    LLMFunctionCall,
    LLMMessage,
    LLMTokenUsage,
    OpenAIToolCall,
    ResultTool,
    Role,
    StatusCode,
    ToolMessage,
)
from turnwise.messages.wire import UnknownTool, decode_document, decode_tool, encode_document, encode_tool


class Point(BaseModel):
    x: int
    y: Decimal = Decimal("1.50")


class Mood(str, Enum):
    GLAD = "glad"
    SAD = "sad"


class Rights(IntFlag):
    READ = 1
    WRITE = 2


class Draw(ToolMessage):
    model_config = ConfigDict(extra="allow")

    request: str = "draw"
    purpose: str = "To draw <points>."
    points: list[Point] = Field(default_factory=list)
    data: dict[str, Any] = Field(default_factory=dict)
    inner: SerializeAsAny[ToolMessage] | None = None


class Launch(ToolMessage):
    request: str = "launch"
    purpose: str = "To launch."
    where: str = "pad"

    def handle(self) -> str:
        raise AssertionError("launched")


REGISTRY: dict[str, type[ToolMessage]] = {
    "draw": Draw,
    "launch": Launch,
    "result_tool": ResultTool,
    "agent_send_tool": AgentSendTool,
}


def through_json(doc: ChatDocument, registry: dict[str, type[ToolMessage]] = REGISTRY) -> ChatDocument:
    return decode_document(json.loads(json.dumps(encode_document(doc))), registry)


def test_a_tool_crosses_with_its_class_fields_extra_fields_nested_tools_and_call_id() -> None:
    tool = Draw.model_validate(
        {"points": [Point(x=1)], "inner": Launch(where="sea"), "id": "call_1", "purpose": "mine", "shade": "dark"}
    )
    read = decode_tool(json.loads(json.dumps(encode_tool(tool))), REGISTRY)
    assert read == tool
    assert isinstance(read, Draw)
    assert isinstance(read.inner, Launch)
    assert read.model_extra == {"shade": "dark"}


def test_models_in_extra_fields_are_models_again_where_their_class_is_found() -> None:
    class Local(BaseModel):
        x: int

    tool = ResultTool.model_validate({"point": Point(x=1), "more": {"all": [Point(x=2)]}, "local": Local(x=3)})
    read: Any = decode_tool(json.loads(json.dumps(encode_tool(tool))), REGISTRY)

    assert read.point == Point(x=1)
    assert read.more == {"all": [Point(x=2)]}
    assert read.local == {"x": 3}


def test_enums_in_extra_fields_and_values_are_members_again_where_their_class_is_found() -> None:
    class Local(Enum):
        ONE = 1

    both = Rights.READ | Rights.WRITE
    tool = ResultTool.model_validate({"mood": Mood.GLAD, "more": [{"a": Mood.SAD}], "both": both, "local": Local.ONE})
    body = json.loads(json.dumps(encode_tool(tool)))
    read: Any = decode_tool(body, REGISTRY)
    gone: Any = decode_tool({**body, "mood": {**body["mood"], "$enum": "gone.module:Mood"}}, REGISTRY)
    changed: Any = decode_tool({**body, "mood": {**body["mood"], "name": "MAD", "value": "mad"}}, REGISTRY)

    assert body["mood"] == {"$enum": f"{__name__}:Mood", "name": "GLAD", "value": "glad"}
    assert (read.mood, read.more, read.both, read.local) == (Mood.GLAD, [{"a": Mood.SAD}], both, 1)
    assert [type(each) for each in (read.mood, read.more[0]["a"], read.both)] == [Mood, Mood, Rights]
    assert (type(gone.mood), gone.mood, changed.mood) == (str, "glad", "mad")
    assert type(through_json(ChatDocument(content="glad", content_any=Mood.GLAD)).content_any) is Mood


def test_a_model_whose_class_takes_its_fields_no_more_is_plain_data() -> None:
    body = encode_tool(ResultTool.model_validate({"point": Point(x=1)}))
    read: Any = decode_tool({**body, "point": {**body["point"], "x": "none"}}, REGISTRY)
    gone: Any = decode_tool({**body, "point": {"$model": "gone.module:Point", "x": 1}}, REGISTRY)

    assert read.point == {"x": "none", "y": "1.50"}
    assert gone.point == {"x": 1}


def test_tools_in_a_list_field_keep_their_classes() -> None:
    tool = AgentSendTool(to="x", tools=[Launch(where="sea"), ResultTool(value=[1, {"a": Launch()}])])
    read = decode_tool(json.loads(json.dumps(encode_tool(tool))), REGISTRY)
    assert isinstance(read, AgentSendTool)
    assert read.tools[0] == Launch(where="sea")
    assert (read.tools[1].model_extra or {})["value"] == [1, {"a": Launch()}]


def test_every_field_and_mark_of_a_document_crosses() -> None:
    doc = ChatDocument(
        content="text",
        content_is_none=True,
        reasoning="why",
        oai_tool_calls=[OpenAIToolCall(id="c", function=LLMFunctionCall(name="draw", arguments={"x": [1]}))],
        oai_tool_id2result={"c": "r"},
        oai_tool_choice={"type": "function", "function": {"name": "draw"}},
        function_call=LLMFunctionCall(name="f", raw="{bad"),
        tool_messages=[Launch()],
        attachment={"a": [Launch(where="sea")]},
        files=["one", {"two": 2}],
        metadata=ChatDocMetaData(
            parent_id="p",
            child_id="k",
            agent_id="a",
            msg_idx=3,
            sender=Entity.LLM,
            sender_name="n",
            recipient="r",
            block=Entity.USER,
            tool_ids=["t"],
            oai_tool_id="c",
            usage=LLMTokenUsage(prompt_tokens=1, cost=Decimal("0.10"), calls=1),
            cached=True,
            status=StatusCode.DONE,
            tainted=True,
            tools_from_agent=True,
            source=Entity.LLM,
        ),
    )
    read = through_json(doc)
    assert read.metadata == doc.metadata
    assert read.tool_messages == doc.tool_messages
    skipped = {"metadata", "tool_messages", "content_any"}
    assert read.model_dump(exclude=skipped) == doc.model_dump(exclude=skipped)
    assert isinstance(read.attachment["a"][0], Launch)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(x=2), {"x": 2, "y": "1.50"}),
        (Decimal("2.50"), "2.50"),
        ([1, "two", None, {"three": [Decimal(3)]}], [1, "two", None, {"three": ["3"]}]),
        ((1, 2), [1, 2]),
        (0, 0),
        (False, False),
        (Launch(where="sea"), Launch(where="sea")),
    ],
)
def test_a_value_of_a_handler_crosses_as_what_json_can_say_of_it(value: Any, expected: Any) -> None:
    assert through_json(ChatDocument(content="", content_any=value)).content_any == expected


def test_what_cannot_cross_is_a_type_error_that_names_the_place_and_the_type() -> None:
    class Handle:
        pass

    with pytest.raises(TypeError, match=r"content_any holds a Handle, which cannot cross a process.*pydantic model"):
        encode_document(ChatDocument(content_any=Handle()))
    with pytest.raises(TypeError, match=r"draw\.data holds a Handle"):
        encode_tool(Draw(data={"deep": [Handle()]}))


def test_an_unknown_tool_travels_on_untouched_and_is_handled_by_nobody() -> None:
    # given a document with a tool of another application
    doc = ChatDocument(tool_messages=[Launch(where="sea"), Draw(inner=Launch())])
    # when a process that knows neither reads it
    stranger = through_json(doc, {})
    assert [type(tool) for tool in stranger.tool_messages] == [UnknownTool, UnknownTool]
    agent = ChatAgent(ChatAgentConfig())
    assert agent.agent_response(stranger) is None
    # then one that knows them gets all of it
    assert through_json(stranger).tool_messages == doc.tool_messages


@pytest.mark.parametrize(
    "data",
    [
        {"$tool": "launch", "where": "sea"},
        {"$document": {"content": "x"}},
        {"$data": {"$tool": "launch"}},
        {"$model": f"{__name__}:Point", "x": 1},
        {"$enum": f"{__name__}:Mood", "name": "GLAD", "value": "glad"},
        {"deep": [{"$tool": "launch"}], "$other": 1},
    ],
)
def test_data_that_looks_like_a_mark_stays_data(data: dict[str, Any]) -> None:
    assert through_json(ChatDocument(content_any=data)).content_any == data
    tool = decode_tool(json.loads(json.dumps(encode_tool(Draw(data=data)))), REGISTRY)
    assert isinstance(tool, Draw)
    assert tool.data == data


def test_an_extra_field_named_like_a_mark_does_not_change_the_class_of_a_tool() -> None:
    tool = Draw.model_validate({"$tool": "launch", "$fields": {"request": "launch"}, "shade": "dark"})
    assert decode_tool(json.loads(json.dumps(encode_tool(tool))), REGISTRY) == tool


def test_the_parent_is_looked_up_when_somebody_asks() -> None:
    parent = ChatDocument(content="question")
    child = ChatDocument(content="answer", metadata=ChatDocMetaData(parent_id=parent.id()))
    asked: list[str] = []

    def find(document_id: str) -> ChatDocument | None:
        asked.append(document_id)
        return parent

    read = decode_document(encode_document(child), {}, find)
    assert asked == []
    assert read.parent is parent
    assert read.parent is parent
    assert asked == [parent.id()]


keys = st.sampled_from(["a", "$tool", "$document", "$data", "$fields", "request"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, derandomize=True)
@given(json_values)
def test_any_json_value_crosses_unchanged(value: Any) -> None:
    read = through_json(ChatDocument(content="", content_any=value, tool_messages=[Draw(data={"value": value})]))
    assert read.content_any == (value if value != "" else None)
    assert read.tool_messages == [Draw(data={"value": value})]


def test_a_copy_of_a_message_knows_what_it_answers_and_a_pickled_one_asks_again() -> None:
    parent = ChatDocument(content='{"n": 1}')
    child = ChatDocument(content="2")
    child.answers(parent)
    for other in (child.model_copy(), copy.copy(child), copy.deepcopy(child)):
        assert other.parent is not None and other.parent.content == parent.content
    read = pickle.loads(pickle.dumps(parent))  # noqa: S301 - our own bytes
    assert read.parent is None
    assert read.json_objects() == [{"n": 1}]


class Sealed(ToolMessage):
    request: str = "sealed"
    purpose: str = "To keep <inner>."
    inner: SerializeAsAny[ToolMessage]
    typed: Launch | None = None


def test_a_tool_within_a_tool_crosses_as_what_it_was_read_as_and_not_as_what_it_calls_itself() -> None:
    # given tools that a model wrote into the fields of another: of no class but the base's, and of another's name
    registry: dict[str, type[ToolMessage]] = {**REGISTRY, "sealed": Sealed}
    inner, typed = {"request": "launch", "where": "sea"}, {"request": "draw", "where": "sea"}
    tool = Sealed.model_validate({"inner": inner, "typed": typed})
    assert type(tool.inner) is ToolMessage
    # when it crosses
    read = decode_tool(json.loads(json.dumps(encode_tool(tool))), registry)
    # then no class is added that it did not have here
    assert read == tool
    assert isinstance(read, Sealed)
    assert type(read.inner) is ToolMessage
    assert type(read.typed) is Launch
    assert read.typed.request == "draw"


def test_a_tool_of_an_unknown_class_keeps_its_class_on_its_way() -> None:
    tool = Sealed(inner=Launch.model_validate({"request": "draw", "where": "sea"}))
    # through a process that knows nobody of that name
    once = encode_tool(decode_tool(encode_tool(tool), {}))
    assert decode_tool(once, {**REGISTRY, "sealed": Sealed}) == tool


def test_messages_share_the_set_of_their_fields_and_nothing_else() -> None:
    one, other = ChatDocument(content="a"), ChatDocument(content="b")
    one.content = "c"
    copied = one.model_copy(update={"content": "d"})
    assert (one.content, other.content, copied.content) == ("c", "b", "d")
    assert one.model_fields_set == other.model_fields_set == set(ChatDocument.model_fields)
    assert one.metadata.model_fields_set is other.metadata.model_fields_set
    assert LLMMessage(role=Role.USER).model_dump(exclude_defaults=True) == {"role": Role.USER}


class Parcel(ToolMessage):
    request: str = "parcel"
    purpose: str = "To hand over <load>."
    load: Any = None
    parts: list[Any] = Field(default_factory=list)
    by_name: dict[str, Any] | None = None


def test_a_model_in_a_field_of_any_type_is_read_as_that_model() -> None:
    parcel = Parcel(load=Point(x=1), parts=[Point(x=2), Mood.SAD, 3], by_name={"a": Point(x=4), "b": {"c": 5}})

    data = json.loads(json.dumps(encode_tool(parcel)))

    assert decode_tool(data, {"parcel": Parcel}) == parcel


@pytest.mark.parametrize("given", [{}, {"recipient": "Bob"}])
def test_a_tool_without_the_recipient_that_its_model_has_to_name_is_read_as_the_class_that_it_is_of(
    given: dict[str, str],
) -> None:
    addressed = Launch.require_recipient()
    tool = (addressed if given else Launch).model_validate({"where": "sea", **given})

    read = decode_tool(json.loads(json.dumps(encode_tool(tool))), {"launch": addressed})

    assert read == tool
    assert type(read) is type(tool)


def test_a_text_without_a_value_stays_without_one_and_one_of_an_earlier_version_has_itself() -> None:
    assert through_json(ChatDocument(content="plain")).content_any is None
    assert through_json(ChatDocument(content="plain", content_any="plain")).content_any == "plain"
    assert "content_any" not in encode_document(ChatDocument(content="plain", content_any="plain"))
    assert "content_any" not in encode_document(ChatDocument())
