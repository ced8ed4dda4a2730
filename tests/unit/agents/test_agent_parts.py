"""An agent is one class over its parts, and its subclasses are asked wherever the parts need it."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from turnwise import Agent, ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, RewindTool, Task, ToolMessage
from turnwise.agents import prompts, responders, responses
from turnwise.agents.attributes.holder import Holder
from turnwise.agents.history import editing
from turnwise.agents.output import format_setting
from turnwise.agents.tools import answering, enabling, reading

PARTS = (answering, editing, enabling, format_setting, prompts, reading, responders, responses)


class LookUp(ToolMessage):
    request: str = "lookup"
    purpose: str = "To look up <what>."
    what: str


def config(*answers: str) -> ChatAgentConfig:
    said = iter(answers)
    return ChatAgentConfig(llm=MockLMConfig(response_fn=lambda _: next(said, "DONE")))


def test_an_agent_is_two_classes_over_what_saves_its_attributes() -> None:
    assert ChatAgent.__mro__ == (ChatAgent, Agent, Holder, object)


def test_every_function_of_a_part_that_is_a_method_keeps_its_name_and_says_what_it_does() -> None:
    taken = {
        function: name
        for kind in (Agent, ChatAgent)
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and function.__module__ != kind.__module__
    }
    assert len(taken) > 50
    for function, name in taken.items():
        assert function.__doc__, name
        assert name == "__getitem__" or function.__name__ == name
        assert next(iter(inspect.signature(function).parameters)) == "agent", name


def test_every_public_function_of_a_part_that_takes_an_agent_is_a_method_or_says_so() -> None:
    # What serves the library alone: no method, so that programs may call their own methods so.
    own = {"found_in", "in_format", "lasting_format", "restore_format"}
    methods = {name for name in dir(ChatAgent) if not name.startswith("_")}
    for part in PARTS:
        for name, function in inspect.getmembers(part, inspect.isfunction):
            first = next(iter(inspect.signature(function).parameters), "")
            if function.__module__ == part.__name__ and first == "agent" and not name.startswith("_"):
                assert name in methods | own, f"{part.__name__}.{name}"


@pytest.mark.parametrize("name", ["lookup", "found", "held_history", "restore_format", "lookup_in"])
def test_a_handler_may_have_any_name_that_is_not_the_public_one_of_a_method(name: str) -> None:
    tool = type("Named", (LookUp,), {"request": name, "__annotations__": {"request": "str"}, "__module__": __name__})
    call = json.dumps({"request": name, "what": "it"})
    rewind = json.dumps({"request": "rewind_tool", "n": 1, "content": "DONE rewound"})
    kind = type("Named", (ChatAgent,), {name: lambda self, msg: f"handled {msg.what}"})
    agent = kind(config(call, rewind))
    agent.enable_message([tool, RewindTool])

    task = Task(agent, interactive=False)
    result = task.run("begin")

    assert result is not None
    assert "rewound" in result.content
    assert agent.agent_response(agent.create_llm_response(call)).content == "handled it"


def test_the_parts_ask_a_subclass_for_all_that_it_overrides() -> None:
    asked: list[str] = []

    class Own(ChatAgent):
        def tool_instructions(self) -> str:
            asked.append("tool_instructions")
            return super().tool_instructions() + "Mind the tools."

        def get_tool_messages(self, msg: str | ChatDocument | None, all_tools: bool = False) -> list[ToolMessage]:
            asked.append("get_tool_messages")
            return super().get_tool_messages(msg, all_tools)

        def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
            asked.append("handle_message_fallback")
            return super().handle_message_fallback(msg)

        def set_system_message(self, msg: str) -> None:
            asked.append("set_system_message")
            super().set_system_message(msg)

        def update_history(self, message: str, response: str) -> None:
            asked.append("update_history")
            super().update_history(message, response)

        def response_template(self, *args: Any, **more: Any) -> ChatDocument:
            asked.append("response_template")
            return super().response_template(*args, **more)

    agent = Own(config("a text"))
    agent.augment_system_message("Be brief.")
    agent.system_message = f"{agent.system_message} Now."
    answer = agent.llm_response("hello")
    assert agent.agent_response(answer) is None
    agent.create_agent_response("x")

    assert "Mind the tools." in agent.message_history[0].content
    assert set(asked) == {
        "tool_instructions", "get_tool_messages", "handle_message_fallback", "set_system_message", "response_template"
    }  # fmt: skip
