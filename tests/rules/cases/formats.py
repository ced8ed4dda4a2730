"""Structured output, streaming, callbacks, logs, tools in XML and of MCP servers."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import tool

from turnwise import (
    ChatAgent,
    ChatDocument,
    Entity,
    LLMConfig,
    MCPTools,
    Task,
    ToolMessage,
    XMLToolMessage,
)


class City(BaseModel):
    name: str
    people: int


ROME = '{"name": "Rome", "people": 3}'


def _atlas(cast: Cast, *lines: str, **more: Any) -> Task:
    """Boss answers with cities; what AGENT does not understand it leaves."""
    return cast.task("Boss", *lines, agent={"output_format": City}, **more)


@scenario(
    "OUT-1 TYPE-2",
    """
    Boss LLM: {"name": "Rome", "people": 3}
    Boss = FIXED_TURNS
    => City City(name='Rome', people=3)
    """,
    turns=1,
    return_type=City,
    never={"served": "what a run returns crosses processes as plain data"},
)
def an_answer_is_an_object_of_the_format(cast: Cast) -> Task:
    return _atlas(cast, ROME)


@scenario(
    "OUT-1",
    """
    Boss LLM: {"name": "Rome", "people": 3}
    Boss = FIXED_TURNS
    => dict {'name': 'Rome', 'people': 3}
    """,
    turns=1,
    return_type=dict,
    never={"run": "in one process it is the object itself", "run_async": "in one process it is the object itself"},
)
def a_served_answer_is_the_objects_data(cast: Cast) -> Task:
    return _atlas(cast, ROME)


@scenario(
    "OUT-2",
    """
    Boss LLM: {"name": "Rome"}
    Boss Agent: ...people...
    Boss LLM: {"name": "Rome", "people": 3}
    Boss = FIXED_TURNS
    => ...
    """,
    turns=3,
)
def an_answer_that_does_not_fit_is_asked_for_again(cast: Cast) -> Task:
    return _atlas(cast, '{"name": "Rome"}', ROME)


class SetFormat(ToolMessage):
    request: str = "set_format"
    purpose: str = "To answer with a sum from now on, or (<off>) with any text."
    off: bool = False

    def handle(self, agent: ChatAgent) -> str:
        agent.set_output_format(None if self.off else Add)
        return f"told of add: {'add' in agent.system_and_tools_message().content}"


@scenario(
    "OUT-3 OUT-1",
    """
    Boss LLM: {set_format}
    Boss Agent: told of add: True
    Boss LLM: {add a=4}
    Boss Agent: 5
    Boss = FIXED_TURNS
    => 5
    """,
    turns=4,
)
def a_format_that_a_handler_sets_lasts(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("set_format"), tool("add", a=4), tools=[SetFormat])
    agent.enable_message(Add, use=False, handle=False)
    return cast.task(agent)


@scenario(
    "OUT-1 OUT-3",
    """
    Boss LLM: {"value": [1, 2]}
    Boss = FIXED_TURNS
    => list [1, 2]
    """,
    turns=1,
    return_type=list[int],
)
def a_format_that_is_set_with_the_agent_need_be_no_class(cast: Cast) -> Task:
    agent = cast.agent("Boss", '{"value": [1, 2]}')
    agent.set_output_format(list[int])
    return cast.task(agent)


@scenario(
    "OUT-1 OUT-3",
    """
    Boss LLM: {"value": {"Rome": {"name": "Rome", "people": 3}}}
    Boss = FIXED_TURNS
    => dict {'Rome': City(name='Rome', people=3)}
    """,
    turns=1,
    return_type=dict[str, City],
)
def a_copy_in_another_format_may_be_the_agent_of_a_task(cast: Cast) -> Task:
    agent = cast.agent("Boss", f'{{"value": {{"Rome": {ROME}}}}}', output_format=City)
    return cast.task(agent[dict[str, City]])


class Switch(ToolMessage):
    request: str = "switch"
    purpose: str = "To answer with any text from now on, or else with numbers."
    off: bool

    def handle(self, agent: ChatAgent) -> str:
        agent.set_output_format(None if self.off else list[int])
        agent.augment_system_message("Be kind.")
        return "free" if self.off else "bound"


@scenario(
    "OUT-3 OUT-2",
    """
    Boss LLM: {switch off=true}
    Boss Agent: free
    Boss LLM: hm
    Boss Agent: ok
    Boss LLM: {switch off=false}
    Boss Agent: bound
    Boss LLM: hm
    Boss Agent: Your answer is not in the format that it has to have, `list[int]`: ...
    Boss LLM: {"value": [1]}
    Boss = FIXED_TURNS
    => {"value": [1]}
    """,
    turns=9,
)
def a_handler_may_set_the_first_format_again(cast: Cast) -> Task:
    lines = tool("switch", off=True), "hm", tool("switch", off=False), "hm", '{"value": [1]}'
    agent = cast.agent("Boss", *lines, tools=[Switch], handle_llm_no_tool="ok")
    agent.set_output_format(list[int])
    return cast.task(agent)


# --- streaming and callbacks ---


def _listening(cast: Cast, told: list[str], *lines: Any, stream: bool = False, **more: Any) -> Any:
    """An agent that writes down what it tells a user interface."""
    agent = cast.agent("Boss", *lines, llm=LLMConfig(type="mock", stream=stream), **more)
    calls = agent.callbacks
    calls.start_llm_stream = lambda: lambda text: told.append(f"piece {text}")
    calls.finish_llm_stream = lambda content: told.append(f"finished {content}")
    calls.show_llm_response = lambda content: told.append(f"llm {content}")
    calls.show_agent_response = lambda content: told.append(f"agent {content}")
    calls.show_start_response = lambda entity: told.append(f"start {entity}")
    return agent


class Told(ToolMessage):
    request: str = "told"
    purpose: str = "To say what the interface was told."


def _telling(cast: Cast, *, stream: bool) -> Task:
    told: list[str] = []

    class Reporter(ChatAgent):
        def told(self, _: Told) -> str:
            text = ", ".join(item.split(" {")[0] for item in told)
            told.clear()
            return text

    agent = _listening(cast, told, "hello", tool("told"), stream=stream, kind=Reporter, tools=[Told])
    agent.config.handle_llm_no_tool = lambda doc: "go on" if doc.content == "hello" else None
    return cast.task(agent)


_ELSEWHERE = "callbacks are called in the process where things happen, so no process is told of all"


@scenario(
    "LOG-1",
    """
    Boss LLM: hello
    Boss Agent: go on
    Boss LLM: {told}
    Boss Agent: start llm, llm hello, agent go on, start llm, llm, start agent
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
    never={"served": _ELSEWHERE},
)
def an_interface_is_told_of_answers(cast: Cast) -> Task:
    return _telling(cast, stream=False)


@scenario(
    "LOG-2 LOG-1",
    """
    Boss LLM: hello
    Boss Agent: go on
    Boss LLM: {told}
    Boss Agent: start llm, piece hello, finished hello, agent go on, start llm, piece, finished, start agent
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
    never={"served": _ELSEWHERE},
)
def an_interface_is_told_pieces_of_a_streamed_answer(cast: Cast) -> Task:
    return _telling(cast, stream=True)


@scenario(
    "LOG-2",
    """
    Boss LLM: hello
    Boss Agent: 2
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def a_streamed_conversation_goes_as_any_other(cast: Cast) -> Task:
    told: list[str] = []
    agent = _listening(cast, told, "hello", "DONE", stream=True)
    agent.config.handle_llm_no_tool = "2"
    return cast.task(agent)


class Logged(Task):
    """Keeps what it was told of messages, and gives it out as its result."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.seen: list[str] = []

    def log_message(self, resp: Any, msg: ChatDocument | None = None, mark: bool = False) -> None:
        name = resp.value if isinstance(resp, Entity) else resp.name
        self.seen.append(f"{'*' if mark else '-'}{name}")
        super().log_message(resp, msg, mark)

    def result(self, status: Any = None) -> ChatDocument | None:
        found = super().result(status)
        if found is not None:
            found.content = " ".join(self.seen)
        return found


@scenario(
    "LOG-3",
    """
    Boss LLM refused: DO-NOT-KNOW
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss LLM: DONE
    Boss = DONE
    => -User -LLM *Bob
    """,
    never={"served": "log_message has no effect on a served run, whose log is made of its events"},
)
def each_message_that_was_tried_or_taken_is_logged(cast: Cast) -> Task:
    """The last one is logged when the result was made, so it is not in it."""
    return cast.task("Boss", "DO-NOT-KNOW", "DONE", subs=[cast.task("Bob", "DONE mine")], kind=Logged)


# --- XML ---


class Write(XMLToolMessage):
    request: str = "write"
    purpose: str = "To write <content> to <path>."
    path: str
    content: str = Field(json_schema_extra={"verbatim": True})

    def handle(self) -> str:
        return f"{self.path} has {len(self.content.splitlines())} lines"


_XML = "<tool><request>write</request><path>{path}</path>{rest}</tool>"


@scenario(
    "TOOL-11",
    """
    Boss LLM: I write. ...
    Boss Agent: a.py has 2 lines
    Boss LLM: ...
    Boss Agent: ...`write`...`content`...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def a_tool_may_be_written_as_xml(cast: Cast) -> Task:
    whole = _XML.format(path="a.py", rest="<content><![CDATA[if 1 < 2:\n    pass]]></content>")
    return cast.task("Boss", f"I write. {whole}", _XML.format(path="b.py", rest=""), tools=[Write])


@scenario(
    "TOOL-11 TRUST-1",
    """
    Boss nobody
    Boss = STALLED
    => nothing
    """,
    says=[_XML.format(path="evil.py", rest="<content>x</content>")],
)
def a_tool_typed_as_xml_is_filtered_like_others(cast: Cast) -> Task:
    agent = cast.agent("Boss", "never asked")
    agent.enable_message(Write, use=False)
    return cast.task(agent, max_stalled_steps=1)


@scenario(
    "TOOL-11 FIND-7",
    """
    Boss LLM: <tool><request>write</request><path>a.py
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def xml_that_is_cut_off_is_text(cast: Cast) -> Task:
    return cast.task("Boss", "<tool><request>write</request><path>a.py", tools=[Write], max_stalled_steps=1)


# --- MCP ---


def _shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    def price(article: str, pieces: int = 1) -> str:
        """What an article costs."""
        if article == "moon":
            raise ToolError("not for sale")
        return f"{40 * pieces} EUR"

    return server


@scenario(
    "TOOL-12",
    """
    Boss LLM: {shop_price article=lamp, pieces=2}
    Boss Agent: 80 EUR
    Boss LLM: {shop_price article=moon}
    Boss Agent: ...not for sale...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def the_tools_of_a_server_are_tools(cast: Cast) -> Task:
    lines = tool("shop_price", article="lamp", pieces=2), tool("shop_price", article="moon"), "DONE"
    return cast.task("Boss", *lines, tools=MCPTools(_shop(), prefix="shop_").tools())


class Translate(ToolMessage):
    request: str = "translate"
    purpose: str = "To say <text> in the model's name."
    text: str

    def handle(self, agent: ChatAgent) -> ChatDocument:
        return agent.create_llm_response(f"DONE {self.text}")


@scenario(
    "OUT-4",
    """
    Boss LLM: {translate text=Roma}
    Boss Agent (LLM): DONE Roma
    Boss = DONE
    => Roma
    """,
)
def what_a_handler_says_for_the_model_need_not_fit(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("translate", text="Roma"), tools=[Translate], output_format=City)
    return cast.task(agent)


class Again(ToolMessage):
    request: str = "again"
    purpose: str = "To say <text> in the model's name, and go on."
    text: str

    def handle(self, agent: ChatAgent) -> ChatDocument:
        return agent.create_llm_response(self.text)


@scenario(
    "OUT-4",
    """
    Boss LLM: {again text=Roma}
    Boss Agent (LLM): Roma
    Boss nobody
    Boss = FIXED_TURNS
    => Roma
    """,
    turns=3,
)
def agent_does_not_judge_what_a_handler_said_for_the_model(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("again", text="Roma"), tools=[Again], output_format=City)
    return cast.task(agent)
