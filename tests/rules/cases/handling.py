"""Which handler answers a tool, and what it is given."""

from __future__ import annotations

from pydantic import BaseModel
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import tool

from turnwise import (
    ChatAgent,
    ChatDocument,
    Task,
    ToolMessage,
)


class Ask(ToolMessage):
    """Has a handler of each kind."""

    request: str = "ask"
    purpose: str = "To ask."

    def handle(self) -> str:
        return "by handle"

    def response(self, agent: ChatAgent) -> str:
        return f"by response of {agent.config.name}"


class AskResponse(ToolMessage):
    request: str = "ask"
    purpose: str = "To ask."

    def response(self, agent: ChatAgent) -> str:
        return f"by response of {agent.config.name}"


class AskElsewhere(Ask):
    _handler: str = "elsewhere"


class Answering(ChatAgent):
    def ask(self, tool: Ask) -> str:
        return f"by the agent's {tool.request}"

    def elsewhere(self, tool: Ask) -> str:
        return f"elsewhere for {tool.request}"


def _asking(cast: Cast, kind: type[ToolMessage], agent: type[ChatAgent] = ChatAgent) -> Task:
    return cast.task(cast.agent("Boss", tool("ask"), tools=[kind], kind=agent))


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by the agent's ask
    Boss = FIXED_TURNS
    => by the agent's ask
    """,
    turns=2,
)
def the_agents_method_comes_before_the_tools(cast: Cast) -> Task:
    return _asking(cast, Ask, Answering)


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by handle
    Boss = FIXED_TURNS
    => by handle
    """,
    turns=2,
)
def handle_comes_before_response(cast: Cast) -> Task:
    return _asking(cast, Ask)


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by response of Boss
    Boss = FIXED_TURNS
    => by response of Boss
    """,
    turns=2,
)
def response_comes_last(cast: Cast) -> Task:
    return _asking(cast, AskResponse)


@scenario(
    "HANDLE-2",
    """
    Boss LLM: {ask}
    Boss Agent: elsewhere for ask
    Boss = FIXED_TURNS
    => elsewhere for ask
    """,
    turns=2,
)
def a_tool_may_name_another_method(cast: Cast) -> Task:
    return _asking(cast, AskElsewhere, Answering)


class Annotated(ToolMessage):
    """The annotations say the opposite of the names."""

    request: str = "annotated"
    purpose: str = "To see what is given."

    def handle(self, agent: ChatDocument, chat_doc: ChatAgent) -> str:
        return f"{type(agent).__name__} and {type(chat_doc).__name__}"


class Named(ToolMessage):
    request: str = "named"
    purpose: str = "To see what is given."

    def handle(self, chat_doc, agent) -> str:  # type: ignore[no-untyped-def]
        return f"{type(chat_doc).__name__} and {type(agent).__name__}"


@scenario(
    "HANDLE-3",
    """
    Boss LLM: {annotated}
    Boss Agent: ChatDocument and ChatAgent
    Boss LLM: {named}
    Boss Agent: ChatDocument and ChatAgent
    Boss = FIXED_TURNS
    => ChatDocument and ChatAgent
    """,
    turns=4,
)
def handle_is_given_what_annotations_ask_for_then_names(cast: Cast) -> Task:
    return cast.task("Boss", tool("annotated"), tool("named"), tools=[Annotated, Named])


class Concierge(ChatAgent):
    """Its name holds neither Agent nor ChatDocument."""


class AgentMood(BaseModel):
    """No agent, whatever its name says."""

    word: str = "calm"


class Mood(ToolMessage):
    request: str = "mood"
    purpose: str = "To see what is given."

    def handle(self, desk: Concierge, mood: AgentMood = AgentMood()) -> str:  # noqa: B008 - a value
        return f"{type(desk).__name__} is {mood.word}"


@scenario(
    "HANDLE-3",
    """
    Boss LLM: {mood}
    Boss Agent: Concierge is calm
    Boss = FIXED_TURNS
    => Concierge is calm
    """,
    turns=2,
)
def what_is_given_goes_by_the_type_and_not_by_its_name(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", tool("mood"), kind=Concierge, tools=[Mood]))


class Broken(ToolMessage):
    request: str = "broken"
    purpose: str = "To fail."

    def handle(self) -> str:
        raise LookupError("nothing there")


@scenario(
    "HANDLE-18 ERR-1",
    """
    Boss LLM: {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_of_a_handler_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", tool("broken"), tools=[Broken])


@scenario(
    "HANDLE-18 ERR-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_in_a_sub_task_ends_the_whole_run(cast: Cast) -> Task:
    bob = cast.task("Bob", tool("broken"), tools=[Broken])
    return cast.task("Boss", "ask", subs=[bob])


@scenario(
    "HANDLE-18 HANDLE-10",
    """
    Boss LLM: {add a=1} {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_of_one_of_several_handlers_is_not_swallowed(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('broken')}", tools=[Add, Broken])


def _failing(_: str) -> str:
    raise ConnectionError("no model there")


@scenario(
    "ERR-3",
    """
    => raises ConnectionError: no model there
    """,
)
def a_model_that_fails_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", _failing)
