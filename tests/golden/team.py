"""Builds a scenario's agents and tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from turnwise import ChatAgent, ChatAgentConfig, ChatDocMetaData, ChatDocument, Entity, Task, TaskConfig
from turnwise.models.base import LLMConfig

from . import model
from .tools import Toolbox

_NO_LOGS: dict[str, Any] = {"enable_loggers": False, "enable_html_logging": False}
_ENTITY_LISTS = ("done_if_response", "done_if_no_response")


class Surroundings(Protocol):
    """The surroundings of a team: the models, the human, and the observer."""

    @property
    def task_class(self) -> type[Task[Any]]:
        """Return the class of every task."""

    @property
    def agent_class(self) -> type[ChatAgent]:
        """Return the class of every agent, with methods for its tools."""

    def model(self, agent: model.Agent) -> LLMConfig | None:
        """The settings of the agent's model, None if the scenario gives it none."""

    def settle(self, agent: ChatAgent) -> None:
        """Called once with each agent, before its tools are enabled."""

    def count(self, agent: ChatAgent) -> int:
        """Add one to the agent's counter and return it."""


class Team:
    """The tasks of one scenario."""

    def __init__(self, scenario: model.Scenario, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.toolbox = Toolbox(scenario.tools, surroundings.count)
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
        task = self._surroundings.task_class(self._agent(node.agent), name=node.name, config=config, **params)
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
            llm=self._surroundings.model(spec),
            **self._settings(spec.config),
        )
        agent = self.toolbox.agent_class(self._surroundings.agent_class, spec.tools)(config)
        self._surroundings.settle(agent)
        for tool in spec.tools:
            given = tool.model_dump(exclude={"name"}, exclude_none=True)
            agent.enable_message(self.toolbox.tool_class(tool.name), **given)
        return agent

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


def _text_of_message(template: str) -> Callable[[ChatDocument], str]:
    return lambda message: template.replace("{content}", message.content)
