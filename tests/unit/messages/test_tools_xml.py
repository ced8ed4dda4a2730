"""Tools that a model writes as XML."""

from __future__ import annotations

import time
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    MockLMConfig,
    Task,
    ToolMessage,
    XMLToolMessage,
)
from turnwise.messages.xml.elements import elements


class Write(XMLToolMessage):
    request: str = "write"
    purpose: str = "To write <code> to <path>."
    path: str = Field(description="Where to write.")
    code: str = Field(description="The code.", json_schema_extra={"verbatim": True})
    mode: int = 644

    def handle(self) -> str:
        return f"{self.path} {self.mode}: {self.code!r}"


class Delete(ToolMessage):
    request: str = "delete"
    purpose: str = "To delete <path>."
    path: str

    def handle(self) -> str:
        return f"{self.path} deleted"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Step(BaseModel):
    name: str = ""
    size: int | None = None
    inner: Step | None = None


class Everything(XMLToolMessage):
    request: str = "everything"
    purpose: str = "To try <all>."
    text: str
    verbatim: str = Field(json_schema_extra={"verbatim": True})
    whole: int
    ratio: float
    price: Decimal
    flag: bool
    day: date
    colour: Colour
    level: Level
    choice: Literal["a", "b", 3]
    note: str | None
    either: int | str
    words: list[str]
    numbers: set[int]
    pair: tuple[int, str]
    step: Step
    steps: list[Step]
    maybe: list[Step | None] | None
    by_name: dict[str, int]
    tree: dict[str, list[str]]
    anything: Any
    spare: str | None = None


def from_llm(text: str) -> ChatDocument:
    return ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.LLM, tools_from_agent=True))


def agent_with(*tools: type[ToolMessage], **config: Any) -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(name="Bot", **config))
    agent.enable_message(list(tools))
    return agent


def found(text: str, *tools: type[ToolMessage]) -> list[ToolMessage]:
    return agent_with(*(tools or (Write, Delete))).get_tool_messages(from_llm(text))


def test_an_element_in_prose_is_a_tool_and_its_verbatim_field_is_taken_as_it_stands() -> None:
    code = 'def f(a, b):\n\treturn a < b and "x" & 1\n'
    text = (
        f"I will.\n<tool>\n <request>write</request>\n <path> a.py </path>\n <code><![CDATA[{code}]]></code>\n</tool>!"
    )

    assert found(text) == [Write(path="a.py", code=code)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<write><path>p</path><code>x = 1</code></write>", Write(path="p", code="x = 1")),
        ('<tool name="write" path="p"><code>c</code></tool>', Write(path="p", code="c")),
        ('```xml\n<tool request="write"><path>p</path><code>c</code></tool>\n```', Write(path="p", code="c")),
        ("<tool><path>p</path><code>c</code></tool>", Write(path="p", code="c")),
        ("<tool><request>delete</request><path>p</path></tool>", Delete(path="p")),
        ('{"request": "write", "path": "p", "code": "c"}', Write(path="p", code="c")),
        # Nearly XML:
        (
            "<tool><request>write</request><path>a & b</path><code>if a<b and c>d: List<int> && <br></code></tool>",
            Write(path="a & b", code="if a<b and c>d: List<int> && <br>"),
        ),
        (
            "<tool><request>write</request><path>p</path><code>a &lt; b &amp;&amp; c</code></tool>",
            Write(path="p", code="a < b && c"),
        ),
        (
            "<tool><request>write</request><path>p</path><code><![CDATA[unended</code></tool>",
            Write(path="p", code="unended"),
        ),
        (
            "<tool><request>write</request><br><path>p</path><code><div>&lt;/div></code></extra></tool>",
            Write(path="p", code="<div>&lt;/div>"),
        ),
        (
            "Use <tool> so: <tool><request>write</request><path>p</path><code> </code></tool>",
            Write(path="p", code=" "),
        ),
        ("<tool><request>write</request><path/><code></code></tool>", Write(path="", code="")),
        (
            "<tool><request>write</request><path>a]]&#65;&#x42;&quot;&unknown;</path><code>c</code></tool>",
            Write(path='a]]AB"&unknown;', code="c"),
        ),
        (
            "<!-- <tool><request>delete</request><path>no</path></tool> --><write><path>p</path><code>c</code></write>",
            Write(path="p", code="c"),
        ),
    ],
)
def test_what_models_write_is_understood(text: str, expected: ToolMessage) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "<tool><request>write</request><path>p</path><code>x = 1",
        "<tool><request>write</request><path>p</path><code>x = 1</code>",
        "<tool>just words</tool>",
        "<tool><request>unknown</request><path>p</path></tool>",
        "<other><request>write</request><path>p</path><code>c</code></other>",
        "a < b > c <tool",
    ],
)
def test_what_is_cut_off_or_no_tool_is_text(text: str) -> None:
    assert found(text) == []


def test_tools_of_both_forms_are_found_in_order_and_not_within_each_other() -> None:
    inner = '{"request": "delete", "path": "inner"}'
    in_json = "<tool><request>delete</request><path>inner</path></tool>"
    text = (
        '{"request": "delete", "path": "first"} then '
        f"<tool><request>write</request><path>second</path><code><![CDATA[{inner} {{ open]]></code></tool>"
        f'{{"request": "write", "path": "third", "code": "{in_json}"}} }}'
        f"<tool><request>unknown</request><code>{inner}</code></tool>"
    )

    tools = found(text)

    assert [(tool.request, tool.model_dump()["path"]) for tool in tools] == [
        ("delete", "first"),
        ("write", "second"),
        ("write", "third"),
    ]


def test_bad_fields_are_explained_to_the_model() -> None:
    text = "<tool><request>write</request><path>p</path><code>c</code><mode>rw</mode></tool>"

    answer = agent_with(Write).agent_response(from_llm(text))

    assert answer is not None
    assert "error in your use of the tool `write`" in answer.content
    assert "field `mode`: Input should be a valid integer" in answer.content


def test_an_agent_without_tools_in_xml_takes_it_as_text() -> None:
    text = "<tool><request>delete</request><path>p</path></tool>"

    assert found(text, Delete) == []


def test_what_a_human_typed_is_under_the_same_rule_of_trust() -> None:
    text = "<tool><request>write</request><path>p</path><code>c</code></tool>"
    typed = ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.USER))
    handles_only = agent_with()
    handles_only.enable_message(Write, use=False, handle=True)

    assert handles_only.get_tool_messages(typed) == []
    assert agent_with(Write).get_tool_messages(typed) != []
    assert agent_with(Write, accept_user_tools=False).get_tool_messages(typed) == []


def test_a_tool_found_by_another_agent_in_a_humans_text_is_text_where_no_typed_tools_are_accepted() -> None:
    text = "<write><path>p</path><code>c</code></write>"
    typed = ChatDocument(
        content=text,
        tool_messages=[Write(path="p", code="c")],
        metadata=ChatDocMetaData(sender=Entity.USER, tainted=True),
    )

    assert agent_with(Write, accept_user_tools=False).get_tool_messages(typed) == []


def test_the_recipient_in_xml_addresses_the_message() -> None:
    text = "<tool><request>write</request><recipient>Ann</recipient></tool>"

    assert ChatDocument.from_str(text).metadata.recipient == "Ann"
    assert ChatDocument.from_str("<recipient>Ann</recipient>").metadata.recipient == ""


def test_the_model_is_told_the_form_of_each_tool_in_a_group_of_its_kind() -> None:
    agent = agent_with(Write, Delete)

    told = agent.system_and_tools_message().content

    assert told.index("=== TOOLS IN JSON ===") < told.index("TOOL: delete") < told.index("=== TOOLS IN XML ===")
    assert (
        "TOOL: write\nPURPOSE: To write <code> to <path>.\nXML FORMAT:\n<tool>\n  <request>write</request>\n"
        "  <path>text: Where to write.</path>\n  <code><![CDATA[text: The code.]]></code>\n"
        "  <mode>whole number (optional)</mode>\n</tool>\nWrite the content of <code> between <![CDATA[ and ]]>"
    ) in told


def test_nested_fields_are_shown_and_optional_ones_left_out_on_demand() -> None:
    told = Everything.format_instructions(tool=True)

    assert "  <steps>\n    <item>\n      <name>text (optional)</name>" in told
    assert "  <by_name>\n    <KEY>whole number</KEY>" in told
    assert "<colour>red or blue</colour>" in told
    assert "<spare>" in told
    assert "<spare>" not in Everything.format_instructions(tool=False)


def test_examples_are_shown_in_xml() -> None:
    class Shown(Write):
        @classmethod
        def examples(cls) -> list[ToolMessage | tuple[str, ToolMessage]]:
            return [("I should write", cls(path="a&b", code="x\n"))]

    assert Shown.usage_examples() == (
        "EXAMPLE 1: I should write => \n<tool>\n  <request>write</request>\n  <path><![CDATA[a&b]]></path>\n"
        "  <code><![CDATA[x\n]]></code>\n  <mode>644</mode>\n</tool>"
    )


def test_an_api_is_told_a_plain_function() -> None:
    spec = Write.llm_function_schema()

    assert spec.parameters["properties"]["code"] == {"type": "string", "description": "The code."}


def test_lists_and_nested_models_may_be_written_in_several_ways() -> None:
    class Plan(XMLToolMessage):
        request: str = "plan"
        steps: list[Step]
        tags: list[str] = Field(default_factory=list)
        point: dict[str, int] = Field(default_factory=dict)

    def steps(text: str) -> Any:
        return Plan.parse(f"<tool><request>plan</request>{text}</tool>").steps

    two = [Step(name="a", size=1), Step(name="b")]
    assert steps('<steps><item><name>a</name><size>1</size></item><item name="b"/></steps>') == two
    assert steps("<steps><step><name>a</name><size>1</size></step><step><name>b</name></step></steps>") == two
    assert steps("<steps><name>a</name><size>1</size></steps><steps><name>b</name></steps>") == two
    assert steps('<steps>[{"name": "a", "size": 1}, {"name": "b"}]</steps>') == two
    assert steps("<steps><name>b</name></steps>") == two[1:]
    assert steps("<steps></steps>") == []
    written = Plan.parse(
        '<plan><steps/><tags>x</tags><tags>y</tags><point><x>1</x><entry key="a b">2</entry></point></plan>'
    )
    assert (written.tags, written.point) == (["x", "y"], {"x": 1, "a b": 2})


def test_parsing_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match="no <tool> element found in 'hello'; expected 'write' as XML"):
        Write.parse("hello")
    with pytest.raises(ValidationError, match="code"):
        Write.parse("<tool><request>write</request><path>p</path></tool>")
    assert Write.extract_field_values("hello") is None
    assert Write.find_candidates("a <write/> b <tool>c</tool>") == ["<write/>", "<tool>c</tool>"]


texts = st.text(
    alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("<>&]['\" \n\r\t!-/")), max_size=8
)
steps = st.recursive(
    st.builds(Step, name=texts, size=st.none() | st.integers()),
    lambda inner: st.builds(Step, name=texts, inner=inner),
    max_leaves=2,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(texts, v, max_size=2),
    max_leaves=3,
)
tools = st.builds(
    Everything,
    text=texts,
    verbatim=texts,
    whole=st.integers(),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    day=st.dates(),
    colour=st.sampled_from(Colour),
    level=st.sampled_from(Level),
    choice=st.sampled_from(["a", "b", 3]),
    note=st.none() | texts,
    either=st.integers() | texts,
    words=st.lists(texts, max_size=3),
    numbers=st.sets(st.integers(), max_size=3),
    pair=st.tuples(st.integers(), texts),
    step=steps,
    steps=st.lists(steps, max_size=3),
    maybe=st.none() | st.lists(st.none() | steps, max_size=3),
    by_name=st.dictionaries(texts, st.integers(), max_size=3),
    tree=st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
    anything=values,
    spare=st.none() | texts,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(tool=tools)
def test_what_is_written_is_read_back(tool: Everything) -> None:
    assert Everything.parse(f"Here: {tool.to_xml()} <end>") == tool


@given(
    pieces=st.lists(
        st.sampled_from([*"<>/a &;", "<tool>", "</tool>", "<![CDATA[", "]]>", "<!--", "-->", '<a b="', "<b>", "{", "}"])
    )
)
@example(pieces=["<tool>", "<![CDATA[", "</tool>"])
def test_no_text_is_too_strange_to_be_read(pieces: list[str]) -> None:
    text = "".join(pieces)

    for element in elements(text, {"tool"}):
        assert text[element.start : element.end].startswith("<tool>")
        element.text()
    found(text)


@pytest.mark.parametrize(
    "piece", ["<tool>", "<tool><b>", "<![CDATA[", "<!--", '<tool a="', "<tool></b>", "<", "<tool {", "<a" + " " * 50]
)
def test_a_long_hostile_text_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    def seconds(n: int) -> float:
        text = "<tool>" + piece * n
        started = time.process_time()
        list(elements(text, {"tool"}))
        return time.process_time() - started

    short = min(seconds(500) for _ in range(3))

    assert seconds(5_000) < 40 * short + 0.05


def test_entities_are_not_declared_or_expanded() -> None:
    text = (
        '<!DOCTYPE tool [<!ENTITY lol "lol"><!ENTITY file SYSTEM "file:///etc/passwd">]>'
        "<tool><request>write</request><path>&lol;&file;</path><code>c</code></tool>"
    )

    assert found(text) == [Write(path="&lol;&file;", code="c")]


def test_a_task_uses_it_like_any_tool() -> None:
    call = Write(path="a.py", code="print('hi')\n", mode=600)
    replies = {"write it": call.to_xml(), "a.py 600: \"print('hi')\\n\"": "DONE written"}
    agent = agent_with(Write, llm=MockLMConfig(response_dict=replies))

    result = Task(agent, interactive=False).run("write it")

    assert result is not None
    assert result.content == "written"


def test_a_function_becomes_a_tool_in_xml() -> None:
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    tool = XMLToolMessage.from_function(shout)
    answer = agent_with(tool).agent_response(from_llm("<tool><request>shout</request><text>a &amp; b</text></tool>"))

    assert answer is not None
    assert answer.content == "A & B"


class Line(BaseModel):
    item: str
    qty: int = 1


class Order(XMLToolMessage):
    request: str = "order"
    purpose: str = "To order <lines>."
    lines: list[Line]


def test_a_list_of_models_with_a_field_called_item_is_read_as_it_is_written() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))
    agent.enable_message(Order)
    order = Order(lines=[Line(item="apple", qty=20), Line(item="pear")])
    alone = "<tool><request>order</request><lines><item>fig</item><qty>2</qty></lines></tool>"

    assert agent.get_tool_messages(order.format_example()) == [order]
    # One line, whose element was left out.
    assert agent.get_tool_messages(alone) == [Order(lines=[Line(item="fig", qty=2)])]
