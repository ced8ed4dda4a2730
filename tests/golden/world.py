"""The surroundings of a team in this process: scripted models and a scripted human, all of it watched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from turnwise import ChatAgent, LLMFunctionCall, LLMResponse, MockLMConfig, OpenAIToolCall, Task

from . import model
from .observer import Observer, RecordingModel
from .script import ScriptedHuman, ScriptedModel


@dataclass
class World:
    """The world outside of the agents, which continues counting however often they are built anew."""

    human: ScriptedHuman
    models: dict[str, ScriptedModel] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)


class Watched:
    """Surroundings of which `observer` sees everything; several teams may share one world."""

    agent_class = ChatAgent

    def __init__(self, world: World, observer: Observer) -> None:
        self._world = world
        self._observer = observer
        self.task_class: type[Task] = observer.task_class()

    def model(self, agent: model.Agent) -> MockLMConfig | None:
        if agent.llm is None:
            return None
        script = self._world.models.setdefault(agent.name, ScriptedModel(agent.llm))
        return MockLMConfig(response_fn=lambda content: _response(script.answer(content)))

    def settle(self, agent: ChatAgent) -> None:
        if agent.llm is not None:
            agent.llm = RecordingModel(agent.llm, self._observer.prompts.setdefault(agent.config.name, []))
        agent.callbacks.get_user_response = self._human_answer

    def count(self, agent: ChatAgent) -> int:
        self._world.counters[agent.config.name] += 1
        return self._world.counters[agent.config.name]

    def _human_answer(self, prompt: str = "", question: str = "") -> str:
        return self._world.human.answer()


def _response(reply: model.Reply) -> str | LLMResponse:
    if isinstance(reply, str):
        return reply
    return LLMResponse(
        message=reply.content,
        oai_tool_calls=[
            OpenAIToolCall(id=call.id, function=LLMFunctionCall(name=call.name, arguments=call.arguments))
            for call in reply.tool_calls
        ],
    )
