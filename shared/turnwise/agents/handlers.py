"""Finding the handler of a tool, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnwise.effects import Effect
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
        by_kind = owner is tool and method == "handle"
        awaited = _bound(twin, first, agent, doc, by_kind) if twin is not None else None
        if sync is not None:
            return Effect(sync=_bound(sync, first, agent, doc, by_kind), awaited=awaited)
        if awaited is not None:
            return Effect(sync=_waited_for(awaited), awaited=awaited)
    return None


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
    method: Callable[..., Any], first: tuple[Any, ...], agent: ChatAgent, doc: ChatDocument | None, by_kind: bool
) -> Callable[[], Any]:
    extra = _extra_arguments(method, len(first), by_kind)
    offered = {"agent": agent, "chat_doc": doc}
    values = {parameter: offered[kind] for parameter, kind in extra.items()}
    return lambda: method(*first, **values)


def _extra_arguments(method: Callable[..., Any], skip: int, by_kind: bool) -> dict[str, str]:
    """Which further parameters get the agent or the document: by annotation first, by name second."""
    function = getattr(method, "__func__", method)
    cached: dict[str, str] | None = _signatures.get(function)
    if cached is not None:
        return cached
    wanted: dict[str, str] = {}
    parameters = list(inspect.signature(method).parameters.values())[skip:]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _kind(parameter, by_kind)
        if kind:
            wanted[parameter.name] = kind
    _signatures[function] = wanted
    return wanted


# By function object: a signature never changes, and there are only as many as there are handlers.
_signatures: dict[Any, dict[str, str]] = {}


def _kind(parameter: inspect.Parameter, by_kind: bool) -> str:
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if by_kind and "ChatDocument" in text:
        return "chat_doc"
    if by_kind and "Agent" in text:
        return "agent"
    return parameter.name if parameter.name in ("agent", "chat_doc") else ""


def _waited_for(awaited: Callable[[], Any]) -> Callable[[], Any]:
    def wait() -> Any:
        # Loaded only where something is asynchronous.
        from turnwise.background_loop import run_in_background

        return run_in_background(awaited)

    return wait
