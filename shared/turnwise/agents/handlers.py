"""Finding the handler of a tool, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwise.agents.handler_calls import idempotency_key
from turnwise.effects import Effect, Steps, finished, waited_for
from turnwise.ids import new_id
from turnwise.messages.annotations import offered_by_type
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolEffect, ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


class Handler(NamedTuple):
    """What handles a tool: a method, its asynchronous twin (at least one of them), and what they are given first."""

    method: Callable[..., Any] | None
    twin: Callable[..., Any] | None
    first: tuple[Any, ...]

    def call(self, agent: ChatAgent, doc: ChatDocument | None) -> Effect:
        """The call of it for the tool in `doc`.

        A method that is only async runs in the background for a synchronous caller, who waits for it.
        """
        sync, twin = self.method, self.twin
        if sync is not None and _is_async(sync):
            sync, twin = None, twin or sync
        awaited = _bound(twin, self.first, agent, doc) if twin is not None else None
        if sync is not None:
            return Effect(_bound(sync, self.first, agent, doc), awaited)
        assert awaited is not None, "there is a method, or its twin"
        return Effect(waited_for(awaited), awaited)

    def effect(self, kind: type[ToolMessage]) -> ToolEffect:
        """What it does outside, as that class of tools declares."""
        method = self.method or self.twin
        assert method is not None, "there is a method, or its twin"
        return declared_by(kind, method)


def handler_of(agent: ChatAgent, tool: ToolMessage) -> Handler | None:
    """What handles the tool, None if nothing does.

    In order: the agent's method named like the request (or `_handler`); the tool's own `handle`; its `response`. An
    async caller gets the `_async` twin where there is one.
    """
    name = tool.private_default("_handler") or tool.request
    for owner, called in ((agent, name), (tool, "handle"), (tool, "response")):
        method, twin = _method(owner, called), _method(owner, called + "_async")
        if method is not None or twin is not None:
            first = (tool,) if owner is agent else (agent,) if called == "response" else ()
            return Handler(method, twin, first)
    return None


def handler_value(agent: ChatAgent, tool: ToolMessage, doc: ChatDocument | None) -> Steps[Any]:
    """What the handler of the tool returns, awaited where that is needed; None if there is no handler."""
    handler = handler_of(agent, tool)
    if handler is None:
        return None
    value = yield handler.call(agent, doc)
    result = yield from finished(value)
    return result


def effect_of(agent: ChatAgent, tool: ToolMessage) -> ToolEffect:
    """What the handler of the tool does outside, as the tool's class declares; "once" without a handler."""
    handler = handler_of(agent, tool)
    return handler.effect(type(tool)) if handler is not None else "once"


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
    kind: Any = type(agent)  # of a class, mypy does not see that it is hashable
    wanted = _wanted(function, len(first) + 1, kind) if function is not None else _wanted(method, len(first), kind)
    # Called late, because the key is that of the call.
    return lambda: method(*first, **{parameter: offered[kind]() for parameter, kind in wanted.items()})


def _key() -> str:
    # A handler that a program calls by itself gets a key of its own.
    return idempotency_key() or new_id("call")


@lru_cache(maxsize=4096)
def _wanted(function: Callable[..., Any], skip: int, agent: type[Any]) -> dict[str, str]:
    """Which parameters after the first ones get the agent, the document or the key: by annotation, else by name."""
    names = {kind.__name__ for kind in agent.__mro__ if kind is not object}
    wanted: dict[str, str] = {}
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _kind(parameter, function, names)
        if kind:
            wanted[parameter.name] = kind
    return wanted


def _kind(parameter: inspect.Parameter, function: Callable[..., Any], agents: Collection[str]) -> str:
    if parameter.name == "idempotency_key":
        return parameter.name
    named = parameter.name if parameter.name in ("agent", "chat_doc") else ""
    return offered_by_type(parameter, function, agents) or named
