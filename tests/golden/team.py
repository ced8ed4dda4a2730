"""Builds a scenario's agents and tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    LLMFunctionCall,
    LLMResponse,
    MockLMConfig,
    OpenAIToolCall,
    Task,
    TaskConfig,
)

from . import model
from .observer import Observer, RecordingModel
from .script import ScriptedHuman, ScriptedModel
from .tools import Toolbox

_NO_LOGS = {"enable_loggers": False, "enable_html_logging": False}
_ENTITY_LISTS = ("done_if_response", "done_if_no_response")


@dataclass
class World:
    """What is outside of the agents, and goes on counting however often they are built anew."""

    human: ScriptedHuman
    models: dict[str, ScriptedModel] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)


class Team:
    """The tasks of one scenario, their scripts, and the human they may ask; teams may share one `world`."""

    def __init__(self, scenario: model.Scenario, observer: Observer, world: World | None = None) -> None:
        world = world or World(ScriptedHuman(scenario.human))
        self.toolbox = Toolbox(scenario.tools, world.counters)
        self.human = world.human
        self.models = world.models
        self._observer = observer
        self._task_class = observer.task_class()
        self.root = self._task(scenario.task)

    def document(self, document: model.Document) -> ChatDocument:
        return ChatDocument(
            content=document.content,
            tool_messages=[self.toolbox.make(call) for call in document.tools],
            metadata=ChatDocMetaData(sender=Entity[document.sender], recipient=document.recipient),
        )

    def _task(self, node: model.TaskNode) -> Task:
        params = dict(node.params)
        for name in _ENTITY_LISTS:
            if name in params:
                params[name] = [Entity[entity] for entity in params[name]]
        config = TaskConfig(**_NO_LOGS, **node.config)
        task = self._task_class(self._agent(node.agent), name=node.name, config=config, **params)
        for sub_node in node.sub_tasks:
            sub_task = self._task(sub_node)
            if sub_node.as_sub_task is None:
                task.add_sub_task(sub_task)
            else:
                task.add_sub_task((sub_task, TaskConfig(**_NO_LOGS, **sub_node.as_sub_task)))
        return task

    def _agent(self, spec: model.Agent) -> ChatAgent:
        config = ChatAgentConfig(
            name=spec.name,
            system_message=f"You are {spec.name}.",
            llm=self._model_config(spec),
            **self._settings(spec.config),
        )
        agent = self.toolbox.agent_class(spec.tools)(config)
        if agent.llm is not None:
            agent.llm = RecordingModel(agent.llm, self._observer.prompts.setdefault(spec.name, []))
        agent.callbacks.get_user_response = self._human_answer
        for tool in spec.tools:
            given = tool.model_dump(exclude={"name"}, exclude_none=True)
            agent.enable_message(self.toolbox.tool_class(tool.name), **given)
        return agent

    def _model_config(self, spec: model.Agent) -> MockLMConfig | None:
        if spec.llm is None:
            return None
        script = self.models.setdefault(spec.name, ScriptedModel(spec.llm))
        return MockLMConfig(response_fn=lambda content: _response(script.answer(content)))

    def _settings(self, settings: model.AgentSettings) -> dict[str, Any]:
        given = settings.model_dump(exclude={"handle_llm_no_tool"}, exclude_none=True)
        match settings.handle_llm_no_tool:
            case None:
                return given
            case model.ToolCall() as call:
                return {**given, "handle_llm_no_tool": self.toolbox.make(call)}
            case model.TextOfMessage() as text:
                return {**given, "handle_llm_no_tool": _text_of_message(text.callable)}
            case action_or_text:
                return {**given, "handle_llm_no_tool": action_or_text}

    def _human_answer(self, prompt: str = "", question: str = "") -> str:
        return self.human.answer()


def _text_of_message(template: str) -> Callable[[ChatDocument], str]:
    return lambda message: template.replace("{content}", message.content)


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
