"""The scripted models of many scenarios behind one HTTP server, and what they were asked."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from turnwise.testing.fake_llm.answer import Answer, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest, text_of

from . import model
from .application import model_name
from .record import CallRecord, PromptMessage, Prompts
from .script import ScriptedModel


class ScriptedModels:
    """Answers requests for any model that `model_name` names; each script goes on over all runs of its scenario."""

    def __init__(self, scenarios: Iterable[model.Scenario]) -> None:
        self._scripts = {
            model_name(scenario.id, agent.name): ScriptedModel(agent.llm)
            for scenario in scenarios
            for agent in _agents(scenario.task)
            if agent.llm is not None
        }
        self._prompts: dict[str, list[tuple[PromptMessage, ...]]] = defaultdict(list)

    def __call__(self, request: ChatRequest) -> Answer:
        reply = self._scripts[request.model].answer(request.last)
        self._prompts[request.model].append(_prompt(request.messages))
        if isinstance(reply, str):
            return Answer(content=reply)
        calls = [ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in reply.tool_calls]
        return Answer(content=reply.content, tool_calls=calls)

    def prompts(self, scenario: model.Scenario) -> Prompts:
        """Return the prompts that the models of the scenario were sent, by agent."""
        agents = [agent.name for agent in _agents(scenario.task)]
        seen = {name: tuple(self._prompts.get(model_name(scenario.id, name), ())) for name in agents}
        return {name: prompts for name, prompts in seen.items() if prompts}


def _agents(task: model.TaskNode) -> Iterator[model.Agent]:
    yield task.agent
    for sub_task in task.sub_tasks:
        yield from _agents(sub_task)


def _prompt(messages: list[dict[str, Any]]) -> tuple[PromptMessage, ...]:
    if messages[0].get("role") == "system":
        messages = messages[1:]
    return tuple(
        PromptMessage(
            role=message["role"],
            content=text_of(message),
            calls=tuple(_call(call) for call in message.get("tool_calls") or ()),
            answers=message.get("tool_call_id"),
        )
        for message in messages
    )


def _call(call: dict[str, Any]) -> CallRecord:
    function = call["function"]
    return CallRecord(id=call["id"], name=function["name"], arguments=json.loads(function["arguments"]))
