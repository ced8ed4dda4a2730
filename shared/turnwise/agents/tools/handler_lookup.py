"""Finding the handler of a tool, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

from turnwise.agents.tools.handler_calls import idempotency_key
from turnwise.base.ids import new_id
from turnwise.base.sync_async import Effect, Steps, finished, is_unfinished, run_async, run_sync, waited_for
from turnwise.messages.document import ChatDocument
from turnwise.messages.schema.annotations import hint, offered_by_type
from turnwise.messages.tool_message import ToolEffect, ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


class Handler(NamedTuple):
    """The handler of a tool: a method, its asynchronous twin (at least one of them), and their first arguments."""

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
        awaited = _awaited(twin, _bound(twin, self.first, agent, doc)) if twin is not None else None
        if sync is not None:
            return Effect(_bound(sync, self.first, agent, doc), awaited)
        assert awaited is not None, "there is a method, or its twin"
        return Effect(waited_for(awaited), awaited)

    def effect(self, kind: type[ToolMessage]) -> ToolEffect:
        """Return what it does outside, as that class of tools declares."""
        method = self.method or self.twin
        assert method is not None, "there is a method, or its twin"
        return declared_by(kind, method)


def handler_of(agent: ChatAgent, tool: ToolMessage) -> Handler | None:
    """Return what handles the tool, None if nothing does.

    In order: the agent's method named like the request (or `_handler`); the tool's own `handle`; its `response`. An
    async caller gets the `_async` twin where there is one.
    """
    name = tool.private_default("_handler") or tool.request
    method, twin = agent.method_named(name), agent.method_named(name + "_async")
    if method is None and twin is None:
        return _brought(agent, tool)
    # A tool that is named like a method of every agent is not handled by that.
    if agent.inherits(name) or agent.inherits(name + "_async"):
        return _brought(agent, tool)
    return Handler(method, twin, (tool,))


def method_named(agent: ChatAgent, name: str) -> Callable[..., Any] | None:
    """Return the agent's own method of that name, None if it has none; a handler in a tool's class is not its own.

    Asked for each call of a tool, mostly for names that the agent does not have.
    """
    kind, unread = type(agent), agent.__dict__.get("_unread")
    if (
        name in agent.__dict__
        or hasattr(kind, name)
        or not kind.inherits("__getattr__")
        or (unread is not None and unread.has_for(agent, name))
    ):
        found = getattr(agent, name, None)
        return found if callable(found) and not isinstance(found, BroughtHandler) else None
    return None


def _brought(agent: ChatAgent, tool: ToolMessage) -> Handler | None:
    """The handler in the tool's own class."""
    for called in ("handle", "response"):
        method, twin = _method(tool, called), _method(tool, called + "_async")
        if method is not None or twin is not None:
            return Handler(method, twin, (agent,) if called == "response" else ())
    return None


class BroughtHandler:
    """The handler in a tool's own class, called as if it was the agent's method of the tool's name.

    `awaited` returns a coroutine.
    """

    def __init__(self, agent: ChatAgent, awaited: bool) -> None:
        self._agent, self._awaited = agent, awaited

    def __call__(self, msg: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        """Return what the handler returns for the tool `msg`; `chat_doc` is the message that holds it."""
        steps = self._steps(msg, chat_doc)
        return run_async(steps) if self._awaited else run_sync(steps)

    def _steps(self, msg: ToolMessage, chat_doc: ChatDocument | None) -> Steps[Any]:
        handler = _brought(self._agent, msg)
        assert handler is not None, "it was found in the tool's class"
        value = yield handler.call(self._agent, chat_doc)
        return (yield from finished(value))


def brought_handler(agent: ChatAgent, known: Mapping[str, type[ToolMessage]], name: str) -> BroughtHandler | None:
    """The handler that one of the `known` tools brings, by the name of the method; None if there is none."""
    for kind in known.values():
        for suffix in ("", "_async"):
            brings = hasattr(kind, "handle" + suffix) or hasattr(kind, "response" + suffix)
            if brings and name == (kind.private_default("_handler") or kind.name()) + suffix:
                return BroughtHandler(agent, awaited=bool(suffix))
    return None


def handler_value(agent: ChatAgent, tool: ToolMessage, doc: ChatDocument | None) -> Steps[Any]:
    """Return what the handler of the tool returns, awaited where that is needed; None if there is no handler."""
    handler = handler_of(agent, tool)
    if handler is None:
        return None
    value = yield handler.call(agent, doc)
    result = yield from finished(value)
    return result


def effect_of(agent: ChatAgent, tool: ToolMessage) -> ToolEffect:
    """Return what the handler of the tool does outside, as the tool's class declares; "once" without a handler."""
    handler = handler_of(agent, tool)
    return handler.effect(type(tool)) if handler is not None else "once"


def may_return_nothing(agent: ChatAgent, tool: str) -> bool:
    """Return False if the annotation of the tool's handler rules None out; True also for a tool that is unknown."""
    kind = agent.toolbox.known.get(tool)
    name = (kind.private_default("_handler") if kind is not None else "") or tool
    found = agent.method_named(name) or agent.method_named(name + "_async")
    for called in ("handle", "response") if kind is not None else ():
        found = found or _method(kind, called) or _method(kind, called + "_async")
    return found is None or _has_none(found)


def _has_none(function: Callable[..., Any]) -> bool:
    """Return whether None is among what the function is annotated to return; True for an annotation that is no type."""
    annotation = inspect.signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        return True
    try:
        # Read alone: those of the parameters may name what only type checkers import.
        returned = hint(inspect.Parameter("returned", inspect.Parameter.KEYWORD_ONLY, annotation=annotation), function)
    except Exception:  # noqa: BLE001 - evaluating someone's annotation may raise anything
        return True
    kinds = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    return any(kind in (Any, NoneType) for kind in kinds)


def declared_by(kind: type[ToolMessage], handler: Callable[..., Any]) -> ToolEffect:
    """The effect of a class, for this handler.

    Where `_effect_of_own_handlers` is set, the declaration holds for the handlers of the class that made it. A handler
    that an application puts in their place has declared nothing.
    """
    effect: ToolEffect = kind.private_default("_effect")
    if not kind._effect_of_own_handlers:
        return effect
    own = getattr(kind._effect_declared_by, getattr(handler, "__name__", ""), None)
    return effect if _function(own) is _function(handler) else "once"


def is_function(method: Any, function: Callable[..., Any]) -> bool:
    """Return whether the bound method is that function: neither a subclass nor the object has another one."""
    return getattr(method, "__func__", None) is function


def _function(method: Any) -> Any:
    """The function of a bound method; anything else itself."""
    return getattr(method, "__func__", method)


def _method(owner: Any, name: str) -> Callable[..., Any] | None:
    kind = owner if isinstance(owner, type) else type(owner)
    for base in kind.__mro__:
        if name in base.__dict__:
            break
    else:
        # Pydantic takes long to say so, and most tools lack a twin.
        if name not in vars(owner):
            return None
    method = getattr(owner, name, None)
    return method if callable(method) else None


def _is_async(method: Callable[..., Any]) -> bool:
    """Return whether it is an `async def`; asked of the flags of its code, because it is asked for each call."""
    code = getattr(method, "__code__", None)
    return bool(code.co_flags & inspect.CO_COROUTINE) if code is not None else inspect.iscoroutinefunction(method)


def _awaited(twin: Callable[..., Any], call: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    """The call of a twin, which can be awaited also where that is no `async def` and returns a value at once."""
    if _is_async(twin):
        return call

    async def awaited() -> Any:
        value = call()
        return await value if is_unfinished(value) else value

    return awaited


def _bound(
    method: Callable[..., Any], first: tuple[Any, ...], agent: ChatAgent, doc: ChatDocument | None
) -> Callable[[], Any]:
    function = getattr(method, "__func__", None)
    kind: Any = type(agent)  # of a class, mypy does not see that it is hashable
    of_tool = not (first and isinstance(first[0], ToolMessage))
    skip = len(first) + (function is not None)
    wanted = _wanted(function if function is not None else method, skip, kind, of_tool)
    if not wanted:
        return partial(method, *first)
    offered: dict[str, Callable[[], Any]] = {
        "agent": lambda: agent,
        "chat_doc": lambda: None if doc is None else doc.lent(),
        "idempotency_key": _key,
    }
    # Called late, because the key is that of the call.
    return lambda: method(*first, **{parameter: offered[kind]() for parameter, kind in wanted.items()})


def _key() -> str:
    # A handler that a program calls by itself gets a key of its own.
    return idempotency_key() or new_id("call")


@lru_cache(maxsize=4096)
def _wanted(function: Callable[..., Any], skip: int, agent: type[Any], of_tool: bool) -> dict[str, str]:
    """Return which parameters after the first ones get the agent, the document or the key: by annotation, else by name.

    In a handler of a tool's own class, the only other one that has no default gets the document.
    """
    names = {kind.__name__ for kind in agent.__mro__ if kind is not object}
    wanted: dict[str, str] = {}
    others = []
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _kind(parameter, function, names)
        if kind:
            wanted[parameter.name] = kind
        elif parameter.default is parameter.empty:
            others.append(parameter.name)
    if of_tool and len(others) == 1 and "chat_doc" not in wanted.values():
        wanted[others[0]] = "chat_doc"
    return wanted


def _kind(parameter: inspect.Parameter, function: Callable[..., Any], agents: Collection[str]) -> str:
    if parameter.name == "idempotency_key":
        return parameter.name
    named = parameter.name if parameter.name in ("agent", "chat_doc") else ""
    return offered_by_type(parameter, function, agents) or named
