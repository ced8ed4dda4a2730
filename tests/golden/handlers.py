"""The handlers of a scenario's tools, one function per kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

from turnwise import (
    AgentDoneTool,
    AgentSendTool,
    ChatDocument,
    DonePassTool,
    DoneTool,
    FinalResultTool,
    ForwardTool,
    PassTool,
    ResultTool,
    SendTool,
    ToolMessage,
)

from . import model

_OPERATIONS = {"add": int.__add__, "mul": int.__mul__, "sub": int.__sub__}
_COUNTER_TEXT = "count {=}"


class ToolMaker(Protocol):
    """Builds a tool of the scenario, or of the library, from its name and arguments."""

    def __call__(self, call: model.ToolCall) -> ToolMessage: ...


@dataclass(frozen=True, kw_only=True)
class Handling:
    """One call of a handler; `agent` and `document` are None where the handler did not ask for them."""

    fields: Mapping[str, Any]
    make: ToolMaker
    # Adds one to the agent's counter, which all its handlers share, and returns it.
    count: Callable[[], int]
    agent: str | None = None
    document: ChatDocument | None = None

    def filled(self, value: Any) -> Any:
        """`value` with the tool's fields in place of `{field}`, in every string inside."""
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda found: str(self.fields.get(found[1], found[0])), value)
        if isinstance(value, dict):
            return {key: self.filled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.filled(part) for part in value]
        return value

    def tools(self, calls: tuple[model.ToolCall, ...]) -> list[ToolMessage]:
        return [self.make(call.model_copy(update={"args": self.filled(call.args)})) for call in calls]


def needs_agent(handler: model.Handler) -> bool:
    return isinstance(handler, model.Count | model.Countdown) or handler.kind == "agent_name"


def needs_document(handler: model.Handler) -> bool:
    if isinstance(handler, model.Countdown):
        return needs_document(handler.until) or needs_document(handler.then)
    return handler.kind == "sender"


def handle(handler: model.Handler, handling: Handling) -> object:
    """Return the handler's result; a `raise` handler raises ValueError."""
    match handler:
        case model.ReturnValue():
            return handling.filled(handler.value)
        case model.Echo():
            return str(handling.fields[handler.field])
        case model.Bare():
            return _bare(handler, handling)
        case model.Arithmetic():
            return _arithmetic(handler, handling)
        case model.OtherTool():
            return handling.tools((handler.tool,))[0]
        case model.Raise():
            raise ValueError(handling.filled(handler.value))
        case model.Count() | model.Countdown():
            return _counting(handler, handling, handling.count())
        case _:
            return _orchestration(handler, handling)


def _bare(handler: model.Bare, handling: Handling) -> object:
    match handler.kind:
        case "none":
            return None
        case "pass":
            return PassTool()
        case "done_pass":
            return DonePassTool()
        case "agent_name":
            return f"handled by {handling.agent}"
        case "sender":
            if handling.document is None:
                raise ValueError("the handler 'sender' was called without the document it asks for")
            return f"sent by {handling.document.metadata.sender.name}"


def _arithmetic(handler: model.Arithmetic, handling: Handling) -> object:
    operands = [handling.fields[name] for name in handler.fields]
    if handler.operand is not None:
        operands.append(handler.operand)
    number: int = reduce(_OPERATIONS[handler.op], operands)
    return number if handler.text is None else handling.filled(handler.text).replace("{=}", str(number))


def _counting(handler: model.Count | model.Countdown, handling: Handling, count: int) -> object:
    if isinstance(handler, model.Count):
        return handling.filled(handler.text or _COUNTER_TEXT).replace("{=}", str(count))
    # A counter inside counts this step once more: it is the same counter.
    return handle(handler.until if count < handler.limit else handler.then, handling)


def _orchestration(handler: model.Done | model.Result | model.Forward | model.Send, handling: Handling) -> ToolMessage:
    match handler.kind:
        case "done":
            return DoneTool(content=handling.filled(handler.value))
        case "agent_done":
            content = {} if handler.value is None else {"content": handling.filled(handler.value)}
            return AgentDoneTool(**content, tools=handling.tools(handler.tools))
        case "result":
            return ResultTool(**handling.filled(handler.fields))
        case "final_result":
            return FinalResultTool(**handling.filled(handler.fields))
        case "forward":
            return ForwardTool(agent=handling.filled(handler.to))
        case "send":
            return SendTool(to=handling.filled(handler.to), content=handling.filled(handler.value))
        case "agent_send":
            return AgentSendTool(
                to=handling.filled(handler.to),
                content=handling.filled(handler.value),
                tools=handling.tools(handler.tools),
            )
