"""Tool classes and agent methods made from a scenario's declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import turnwise
from turnwise import ChatAgent, ChatDocument, FinalResultTool, ToolMessage

from . import model
from .handlers import Handling, handle, needs_agent, needs_document

_TYPES: dict[str, Any] = {"int": int, "str": str, "bool": bool, "list[int]": list[int], "list[str]": list[str]}


class Toolbox:
    """The tools of one scenario; a name it does not declare is a class of the library.

    `count` adds one to an agent's counter and returns it.
    """

    def __init__(self, declared: tuple[model.Tool, ...], count: Callable[[ChatAgent], int]) -> None:
        self._declared = {tool.name: tool for tool in declared}
        self._count = count
        self._classes = {tool.name: self._class(tool) for tool in declared}

    def tool_class(self, name: str) -> type[ToolMessage]:
        if name in self._classes:
            return self._classes[name]
        found: type[ToolMessage] = getattr(turnwise, name)
        return found

    def make(self, call: model.ToolCall) -> ToolMessage:
        return self.tool_class(call.name)(**call.args)

    def agent_class(self, base: type[ChatAgent], enabled: tuple[model.EnabledTool, ...]) -> type[ChatAgent]:
        """`base`, with a method for each enabled tool whose handler lives in the agent."""
        methods: dict[str, Any] = {}
        for use in enabled:
            tool = self._declared.get(use.name)
            if tool is not None and tool.where == "agent" and tool.handler is not None:
                methods[tool.handler_name or tool.name] = self._agent_method(tool.handler)
        return type("ScriptedAgent", (base,), methods) if methods else base

    def _class(self, tool: model.Tool) -> type[ToolMessage]:
        base = FinalResultTool if tool.base == "FinalResultTool" else ToolMessage
        annotations: dict[str, Any] = {"request": str, "purpose": str}
        body: dict[str, Any] = {
            "__module__": __name__,
            "__annotations__": annotations,
            "request": tool.name,
            "purpose": f"To use {tool.name}.",
        }
        for field in tool.fields:
            annotations[field.name] = _TYPES[field.type]
            if field.default is not None:
                body[field.name] = field.default
        if tool.allow_llm_use is not None:
            annotations["_allow_llm_use"], body["_allow_llm_use"] = bool, tool.allow_llm_use
        if tool.handler_name is not None:
            annotations["_handler"], body["_handler"] = str, tool.handler_name
        if tool.handler is not None and tool.where == "tool":
            body["handle"] = self._handle_method(tool.handler)
        if tool.handler is not None and tool.where == "response":
            body["response"] = self._response_method(tool.handler)
        metaclass: Any = type(base)
        made: type[ToolMessage] = metaclass(_camel_case(tool.name), (base,), body)
        return made

    def _call(
        self, handler: model.Handler, tool: ToolMessage, agent: ChatAgent | None, document: ChatDocument | None
    ) -> object:
        fields = {name: getattr(tool, name) for name in type(tool).model_fields}
        name = agent.config.name if agent is not None else None

        def count() -> int:
            if agent is None:
                raise ValueError("a counting handler was called without its agent; its signature must ask for it")
            return self._count(agent)

        return handle(handler, Handling(fields=fields, make=self.make, count=count, agent=name, document=document))

    def _handle_method(self, handler: model.Handler) -> Callable[..., object]:
        """A `handle` whose parameters' names say what it wants to be given."""

        def plain(tool: ToolMessage) -> object:
            return self._call(handler, tool, None, None)

        def with_agent(tool: ToolMessage, agent: ChatAgent) -> object:
            return self._call(handler, tool, agent, None)

        def with_document(tool: ToolMessage, chat_doc: ChatDocument) -> object:
            return self._call(handler, tool, None, chat_doc)

        def with_both(tool: ToolMessage, agent: ChatAgent, chat_doc: ChatDocument) -> object:
            return self._call(handler, tool, agent, chat_doc)

        if needs_agent(handler):
            return with_both if needs_document(handler) else with_agent
        return with_document if needs_document(handler) else plain

    def _response_method(self, handler: model.Handler) -> Callable[..., object]:
        def response(tool: ToolMessage, agent: ChatAgent) -> object:
            return self._call(handler, tool, agent, None)

        def response_with_document(tool: ToolMessage, agent: ChatAgent, chat_doc: ChatDocument) -> object:
            return self._call(handler, tool, agent, chat_doc)

        return response_with_document if needs_document(handler) else response

    def _agent_method(self, handler: model.Handler) -> Callable[..., object]:
        def method(agent: ChatAgent, msg: ToolMessage) -> object:
            return self._call(handler, msg, agent, None)

        def method_with_document(agent: ChatAgent, msg: ToolMessage, chat_doc: ChatDocument) -> object:
            return self._call(handler, msg, agent, chat_doc)

        return method_with_document if needs_document(handler) else method


def _camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
