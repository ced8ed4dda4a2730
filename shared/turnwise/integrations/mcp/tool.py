"""A server's tool as a class of tool messages."""

from __future__ import annotations

import copy
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import ConfigDict, Field
from pydantic_core import PydanticUndefined

from turnwise.errors import ConfigurationError
from turnwise.integrations.mcp.schema import allows_null, type_of
from turnwise.messages.handling_agent import HandlingAgent
from turnwise.messages.schema.function_tool import field_names, tool_class
from turnwise.messages.tool_message import SETTINGS, ToolEffect, ToolMessage
from turnwise.models.base import LLMFunctionSpec

if TYPE_CHECKING:
    from turnwise.integrations.mcp.result import ServerAnswer
    from turnwise.messages.document import ChatDocument


class ToolServer(Protocol):
    """The server, as its tools call it."""

    def call(self, agent: HandlingAgent, tool: str, arguments: dict[str, Any]) -> ChatDocument: ...

    async def call_async(self, agent: HandlingAgent, tool: str, arguments: dict[str, Any]) -> ChatDocument: ...

    def answer(self, tool: str, arguments: dict[str, Any]) -> ServerAnswer: ...

    async def answer_async(self, tool: str, arguments: dict[str, Any]) -> ServerAnswer: ...


@dataclass(frozen=True, kw_only=True)
class Remote:
    """The tool at the server: its name and schema there, and the argument that each field stands for."""

    caller: ToolServer
    name: str
    schema: dict[str, Any]
    arguments: Mapping[str, str]


class MCPTool(ToolMessage):
    """Base class of the tools of MCP servers; the classes are made from what a server lists."""

    request: str = ""
    # No method of an agent is called so: whatever names a server gives, its tools are handled here.
    _handler: str = "(a tool of an MCP server)"
    # A null that a model gave is sent; one that it did not is not.
    _writes_unset: ClassVar[bool] = False
    _remote: ClassVar[Remote]

    def handle(self, agent: HandlingAgent) -> ChatDocument:
        """Return what the server answers."""
        return self._remote.caller.call(agent, self._remote.name, _sent(self))

    async def handle_async(self, agent: HandlingAgent) -> ChatDocument:
        """The same, without blocking the event loop."""
        return await self._remote.caller.call_async(agent, self._remote.name, _sent(self))

    def call_tool(self) -> ServerAnswer:
        """Return what the server answers: a text, with `files` and `value` (structured content) beside it."""
        return self._remote.caller.answer(self._remote.name, _sent(self))

    async def call_tool_async(self) -> ServerAnswer:
        """The same, without blocking the event loop."""
        return await self._remote.caller.answer_async(self._remote.name, _sent(self))

    def arguments(self) -> dict[str, Any]:
        """Return what is sent to the server: optional fields only if they were given a value that the schema allows."""
        return _sent(self)

    @classmethod
    def llm_function_schema(cls, request: bool = False, defaults: bool = True) -> LLMFunctionSpec:
        """The server's own schema; only arguments that tools need the names of are called differently."""
        remote = cls._remote
        parameters = copy.deepcopy(remote.schema)
        listed = parameters["properties"]
        needed = parameters.get("required", [])
        shown = {field: name for field, name in remote.arguments.items() if defaults or name in needed}
        parameters["type"] = "object"
        parameters["properties"] = {field: listed[name] for field, name in shown.items()}
        parameters["required"] = [field for field, name in shown.items() if name in needed]
        if request:
            parameters["properties"]["request"] = {"type": "string", "enum": [cls.name()]}
            parameters["required"].insert(0, "request")
        purpose = str(cls.default_value("purpose") or f"Tool for {cls.name()}")
        return LLMFunctionSpec(name=cls.name(), description=purpose, parameters=parameters)


def _sent(tool: MCPTool) -> dict[str, Any]:
    # A function, as an argument of the server's may be called `arguments`, too.
    remote = tool._remote
    required = remote.schema.get("required", [])
    given = {}
    for field, name in remote.arguments.items():
        value = getattr(tool, field)
        is_null = field in tool.model_fields_set and allows_null(remote.schema["properties"][name])
        if value is not None or is_null or name in required:
            given[name] = value
    return {**(tool.model_extra or {}), **given}


class OpenMCPTool(MCPTool):
    """A tool whose schema allows arguments that it does not list."""

    model_config = ConfigDict(extra="allow", validate_default=True)


def class_of(definition: Any, caller: ToolServer, name: str, effect: ToolEffect | None = None) -> type[MCPTool]:
    """The class for a tool that a server listed, called `name`; its effect is what the server says, if not given."""
    # Some servers write null for none.
    schema: dict[str, Any] = {key: value for key, value in (definition.input_schema or {}).items() if value is not None}
    required = schema.get("required", [])
    others = schema.get("additionalProperties", False)
    unlisted = {} if isinstance(others, bool) else others
    properties = dict(schema.get("properties", {}))
    schema["properties"] = properties
    for argument in required:
        properties.setdefault(argument, unlisted)
    # Not by its truth: the empty schema allows anything.
    base = MCPTool if others is False else OpenMCPTool
    names = field_names(base, list(properties))
    fields = {names[argument]: _field(properties[argument], argument in required) for argument in properties}
    told = definition.description or definition.title or ""
    made = tool_class(base, name, told, fields, module=__name__, effect=effect or _hinted(definition.annotations))
    made._effect_of_own_handlers = True
    made._recipient_is_data = "recipient" in properties or base is OpenMCPTool
    made._remote = Remote(
        caller=caller,
        name=definition.name,
        schema=schema,
        arguments={field: argument for argument, field in names.items()},
    )
    return made


def with_members(made: type[MCPTool], own: type) -> type[MCPTool]:
    """A class for the same tool, of the name of `own` and with its members; `own` may say how it is handled."""
    members = {name: value for name, value in vars(own).items() if _is_member(name, value)}
    private = vars(own).get("__private_attributes__", {})
    members |= {
        name: attribute.default for name, attribute in private.items() if attribute.default is not PydanticUndefined
    }
    if issubclass(own, ToolMessage):
        members |= {name: vars(own)[name] for name in SETTINGS if name in vars(own)}
    purpose = getattr(own, "model_fields", {}).get("purpose")
    if purpose is not None and "purpose" in vars(own).get("__annotations__", {}):
        members |= {"purpose": purpose.default, "__annotations__": {"purpose": str}}
    names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
    kind: type[MCPTool] = types.new_class(own.__name__, (made,), exec_body=lambda body: body.update(names | members))
    handlers = {"handle", "handle_async"}
    if handlers & set(members):
        # Else the server's own handler of the other kind would be asked in runs of that kind.
        for missing in handlers - set(members):
            setattr(kind, missing, None)
    return kind


def _is_member(name: str, value: Any) -> bool:
    method = isinstance(value, types.FunctionType | classmethod | staticmethod | property)
    return method and not name.startswith(("__", "model_"))


def _hinted(annotations: Any) -> ToolEffect:
    """Return what the server's annotations say of a tool; "once" where they say nothing."""
    if getattr(annotations, "read_only_hint", None):
        return "read_only"
    return "idempotent" if getattr(annotations, "idempotent_hint", None) else "once"


def _field(schema: Any, required: bool) -> tuple[Any, Any]:
    hint = type_of(schema)
    text = schema.get("description") if isinstance(schema, Mapping) else None
    hint = hint if required or hint is Any else hint | None
    return Annotated[hint, Field(description=text)], ... if required else None


def name_for(definition: Any, prefix: str) -> str:
    """The name that a model calls the tool by; raises `ConfigurationError` for one that no API takes."""
    name = prefix + re.sub(r"[^a-zA-Z0-9_-]", "_", definition.name)
    if len(name) > 64:
        raise ConfigurationError(
            f"the tool {definition.name!r} of an MCP server would be called {name!r}, but names have at most 64 "
            "characters; leave it out with exclude=[...], or take a shorter prefix"
        )
    return name
