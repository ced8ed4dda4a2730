"""An application's own responders and handlers: which of a method and its async twin is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwise.base.sync_async import Effect, waited_for

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def own_call(agent: ChatAgent, name: str, *args: Any) -> Effect:
    """Return the call of method `name`, or of its async twin, in every way of running.

    The one that is overridden later counts: on the agent itself, or else in the class nearest to its own. Where that is
    true of both, each is called in its own way of running.
    """
    method, twin = getattr(agent, name), getattr(agent, _twin(name))
    place, twin_place = _place(agent, name), _place(agent, _twin(name))
    if twin_place < place:
        return Effect(sync=waited_for(lambda: twin(*args)), awaited=lambda: twin(*args))
    if place < twin_place:
        return Effect(sync=lambda: method(*args))
    return Effect(sync=lambda: method(*args), awaited=lambda: twin(*args))


def _twin(name: str) -> str:
    return f"{name}_async"


def _place(agent: ChatAgent, name: str) -> int:
    """Return where the method stands among the agent and its classes, from the nearest on."""
    if name in agent.__dict__:
        return -1
    return next(place for place, kind in enumerate(type(agent).__mro__) if name in kind.__dict__)
