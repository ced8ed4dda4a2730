"""The module of a class or function decides nothing: modules can be renamed."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any, ClassVar

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DonePassTool,
    DoneTool,
    ForwardTool,
    MockLMConfig,
    PassTool,
    RecipientTool,
    RewindTool,
    SendTool,
    Task,
    ToolMessage,
)
from turnwise.agents.attributes.template import Template
from turnwise.agents.tools.handler_lookup import effect_of, handler_of, may_return_nothing
from turnwise.messages.provenance import steers
from turnwise.porting import notice
from turnwise.porting.settings import ChatAgentConfig as PortedConfig

OWN_TOOLS = (DoneTool, PassTool, DonePassTool, ForwardTool, SendTool, RecipientTool, RewindTool)


class Reset(ToolMessage):
    request: str = "clear_history"
    purpose: str = "To be named like a method of every agent."

    def handle(self) -> str:
        return "handled by the tool"


class Measure(ToolMessage):
    request: str = "measure"
    purpose: str = "To measure."


class Surveyor(ChatAgent):
    """Overrides a fallback, handles one tool, and replaces the handler of one of the library's."""

    def handle_message_fallback(self, msg: str | ChatDocument) -> str:
        return "DONE measured"

    def measure(self, tool: Measure, by: ChatAgent, doc: ChatDocument) -> str:
        return f"{type(by).__name__} after {doc.metadata.sender}"

    def done_tool(self, tool: DoneTool) -> str:
        return "not yet"


@pytest.fixture(params=["as they are", "renamed"], autouse=True)
def modules(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say of everything that these classes have that it is of another module, as a renamed one would."""
    if request.param == "renamed":
        for kind in {
            base for start in (*OWN_TOOLS, ChatAgent, PortedConfig, ChatDocument, Task) for base in start.__mro__
        }:
            if kind.__module__.startswith("turnwise."):
                for value in list(vars(kind).values()):
                    function = inspect.unwrap(getattr(value, "__func__", value))
                    if isinstance(function, FunctionType):
                        monkeypatch.setattr(function, "__module__", "renamed")
                monkeypatch.setattr(kind, "__module__", "renamed")


def surveyor() -> Surveyor:
    agent = Surveyor(ChatAgentConfig(llm=MockLMConfig(default_response='{"request": "measure"}')))
    agent.enable_message([Measure, Reset, DoneTool])
    return agent


def example(kind: type[ToolMessage]) -> ToolMessage:
    values: dict[str, Any] = {"agent": "B", "to": "B", "content": "hi", "intended_recipient": "B", "n": 1}
    return kind(**{name: values[name] for name in kind.model_fields if name in values})


@pytest.mark.parametrize("kind", OWN_TOOLS)
def test_a_tool_of_the_library_steers_and_may_be_handled_twice_by_its_own_handler(kind: type[ToolMessage]) -> None:
    plain = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))

    assert steers(example(kind))
    assert effect_of(plain, example(kind)) == "read_only"


def test_a_handler_in_place_of_the_librarys_has_declared_nothing() -> None:
    assert effect_of(surveyor(), DoneTool(content="x")) == "once"


def test_a_tool_named_like_a_method_of_agents_is_not_handled_by_it() -> None:
    handler = handler_of(surveyor(), Reset())

    assert handler is not None
    assert handler.method is not None
    assert handler.method.__name__ == "handle"


def test_a_handler_is_given_what_its_annotations_name() -> None:
    task = Task(surveyor(), interactive=False, single_round=True)
    agent = task.agent

    assert agent is not None
    answered = agent.agent_response(agent.llm_response("go"))
    assert answered is not None
    assert answered.content == "Surveyor after LLM"


def test_an_override_is_asked() -> None:
    agent = surveyor()
    answered = agent.agent_response(agent.create_llm_response("no tool here"))

    assert answered is not None
    assert answered.content == "DONE measured"


def test_the_annotation_says_whether_a_handler_may_return_none() -> None:
    class Optionally(ChatAgent):
        def measure(self, tool: Measure) -> list[Any] | None:
            return None

        def clear(self, tool: Measure) -> list[Any]:
            return []

    assert may_return_nothing(Optionally(ChatAgentConfig()), "measure")
    assert not may_return_nothing(Optionally(ChatAgentConfig()), "clear")


def test_only_classes_of_the_program_hold_values_for_all_their_objects() -> None:
    class Noting(ChatAgent):
        notes: ClassVar[list[str]] = []

    class Dictating(Noting):
        words: ClassVar[dict[str, int]] = {}

    class Noted(Task):
        marks: ClassVar[set[str]] = set()

    agent = Template(Dictating(ChatAgentConfig()), frozenset(), {})
    task = Template(Noted(agent.made), frozenset(), {})

    assert [value.name for value in agent.class_values] == ["words", "notes"]
    assert [value.name for value in task.class_values] == ["marks"]


def test_only_a_lookup_of_the_programs_own_is_one() -> None:
    class Guessing(ChatAgent):
        def __getattribute__(self, name: str) -> Any:
            return super().__getattribute__(name)

    assert Template(Guessing(ChatAgentConfig()), frozenset(), {}).looked_up_otherwise
    for plain in (surveyor(), Task(surveyor()), ChatAgent(ChatAgentConfig())):
        assert not Template(plain, frozenset(), {}).looked_up_otherwise


def test_a_setting_without_effect_is_told_of_where_a_program_declares_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "_told", set())

    with pytest.warns(notice.NoEffectWarning, match="'full_citations' has no effect"):

        class Quoting(PortedConfig):
            full_citations: bool = False
