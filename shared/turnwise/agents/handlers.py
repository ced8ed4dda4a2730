"""Finding the handler of a tool, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwise.agents.handler_calls import idempotency_key
from turnwise.effects import Effect, Steps
from turnwise.ids import new_id
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolEffect, ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def handler_call(agent: ChatAgent, tool: ToolMessage, doc: ChatDocument | None) -> Effect | None:
    """The call that handles the tool, or None if there is no handler.

    In order: the agent's method named like the request (or `_handler`); the tool's own `handle`; its `response`. An
    async caller gets the `_async` twin where there is one. A handler that is only async runs in the background for a
    synchronous caller, who waits for it.
    """
    name = tool.private_default("_handler") or tool.request
    for owner, method, first in (
        (agent, name, (tool,)),
        (tool, "handle", ()),
        (tool, "response", (agent,)),
    ):
        sync = _method(owner, method)
        twin = _method(owner, method + "_async")
        if sync is not None and _is_async(sync):
            sync, twin = None, twin or sync
        awaited = _bound(twin, first, agent, doc) if twin is not None else None
        if sync is not None:
            return Effect(sync=_bound(sync, first, agent, doc), awaited=awaited)
        if awaited is not None:
            return Effect(sync=_waited_for(awaited), awaited=awaited)
    return None


def handler_value(agent: ChatAgent, tool: ToolMessage, doc: ChatDocument | None) -> Steps[Any]:
    """What the handler of the tool returns, awaited where that is needed; None if there is no handler."""
    call = handler_call(agent, tool, doc)
    if call is None:
        return None
    value = yield call
    result = yield from finished(value)
    return result


def effect_of(agent: ChatAgent, tool: ToolMessage) -> ToolEffect:
    """What the handler of the tool does outside, as the tool's class declares."""
    name = tool.private_default("_handler") or tool.request
    for owner, method in ((agent, name), (tool, "handle"), (tool, "response")):
        found = _method(owner, method) or _method(owner, method + "_async")
        if found is not None:
            return declared_by(type(tool), found)
    return "once"


def may_return_nothing(agent: ChatAgent, tool: str) -> bool:
    """Whether the tool's handler may return None, as far as its annotation says; also for a tool that is unknown."""
    kind = agent.toolbox.known.get(tool)
    names: list[tuple[Any, str]] = [(agent, (kind.private_default("_handler") if kind is not None else "") or tool)]
    names += [(kind, "handle"), (kind, "response")] if kind is not None else []
    for owner, name in names:
        found = getattr(owner, name, None) or getattr(owner, name + "_async", None)
        if callable(found):
            returned = inspect.signature(found).return_annotation
            words = returned if isinstance(returned, str) else getattr(returned, "__name__", str(returned))
            return returned is inspect.Signature.empty or any(word in words for word in ("None", "Optional", "Any"))
    return True


def declared_by(kind: type[ToolMessage], handler: Callable[..., Any]) -> ToolEffect:
    """The effect of a class, for this handler.

    What the framework declares of its own tools holds for its own handlers alone: one that an application puts in their
    place has declared nothing.
    """
    effect: ToolEffect = kind.private_default("_effect")
    known = not kind._effect_home.startswith("turnwise.") or str(handler.__module__).startswith("turnwise.")
    return effect if known else "once"


def _method(owner: Any, name: str) -> Callable[..., Any] | None:
    method = getattr(owner, name, None)
    if not callable(method):
        return None
    # A tool that is named like something of the framework's own is not handled by that.
    home = getattr(type(owner), name, None)
    if getattr(home, "__module__", "").startswith(("turnwise.agents.", "pydantic.")):
        return None
    return method  # type: ignore[no-any-return]


def _is_async(method: Callable[..., Any]) -> bool:
    """Whether it is an `async def`; asked of the flags of its code, because it is asked for each call."""
    code = getattr(method, "__code__", None)
    return bool(code.co_flags & inspect.CO_COROUTINE) if code is not None else inspect.iscoroutinefunction(method)


def _bound(
    method: Callable[..., Any], first: tuple[Any, ...], agent: ChatAgent, doc: ChatDocument | None
) -> Callable[[], Any]:
    offered: dict[str, Callable[[], Any]] = {"agent": lambda: agent, "chat_doc": lambda: doc, "idempotency_key": _key}
    function = getattr(method, "__func__", None)
    wanted = _wanted(function, len(first) + 1) if function is not None else _wanted(method, len(first))
    # Called late, because the key is that of the call.
    return lambda: method(*first, **{parameter: offered[kind]() for parameter, kind in wanted.items()})


def _key() -> str:
    # A handler that a program calls by itself gets a key of its own.
    return idempotency_key() or new_id("call")


@lru_cache(maxsize=4096)
def _wanted(function: Callable[..., Any], skip: int) -> dict[str, str]:
    """Which parameters after the first ones get the agent, the document or the key: by annotation, else by name."""
    wanted: dict[str, str] = {}
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _kind(parameter)
        if kind:
            wanted[parameter.name] = kind
    return wanted


def _kind(parameter: inspect.Parameter) -> str:
    if parameter.name == "idempotency_key":
        return parameter.name
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if "ChatDocument" in text:
        return "chat_doc"
    if "Agent" in text:
        return "agent"
    return parameter.name if parameter.name in ("agent", "chat_doc") else ""


def finished(value: Any) -> Steps[Any]:
    """What is behind a value that has to be awaited; any other value itself."""
    if not hasattr(type(value), "__await__"):
        return value

    async def awaited() -> Any:
        return await value

    result = yield Effect(sync=_waited_for(awaited), awaited=awaited)
    return result


def _waited_for(awaited: Callable[[], Any]) -> Callable[[], Any]:
    def wait() -> Any:
        # Loaded only where something is asynchronous.
        from turnwise.background_loop import run_in_background

        return run_in_background(awaited)

    return wait
