"""Finding the handler of a tool, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwise.effects import Effect, Steps
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage

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
    offered = {"agent": agent, "chat_doc": doc}
    function = getattr(method, "__func__", None)
    wanted = _wanted(function, len(first) + 1) if function is not None else _wanted(method, len(first))
    values = {parameter: offered[kind] for parameter, kind in wanted.items()}
    return lambda: method(*first, **values)


@lru_cache(maxsize=4096)
def _wanted(function: Callable[..., Any], skip: int) -> dict[str, str]:
    """Which parameters after the first ones get the agent or the document: by annotation first, by name second."""
    wanted: dict[str, str] = {}
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _kind(parameter)
        if kind:
            wanted[parameter.name] = kind
    return wanted


def _kind(parameter: inspect.Parameter) -> str:
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
