"""An application's own responders and handlers: which of a method and its async twin is asked."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from turnwise.base.sync_async import Effect, waited_for
from turnwise.messages.document import ChatDocument

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def own_call(agent: ChatAgent, name: str, *args: Any) -> Effect:
    """Return the call of method `name`, or of its async twin, in every way of running.

    The one that is overridden later counts: on the agent itself, or else in the class nearest to its own. Where that is
    true of both, each is called in its own way of running. It is lent the messages among its arguments.
    """
    args = tuple(each.lent() if isinstance(each, ChatDocument) else each for each in args)
    method, twin = getattr(agent, name), getattr(agent, _twin(name))
    place, twin_place = _place(agent, name), _place(agent, _twin(name))
    if twin_place < place:
        return Effect(sync=waited_for(lambda: twin(*args)), awaited=lambda: twin(*args))
    if place < twin_place:
        return Effect(sync=lambda: method(*args))
    return Effect(sync=lambda: method(*args), awaited=lambda: twin(*args))


def method_beneath(agent: ChatAgent, name: str) -> Callable[..., Any] | None:
    """Return the application's own method `name` that the library's async twin stands for; None if there is none.

    The twin is reached through those that the application overrides, if any. A class that overrides both forms has had
    its say by then, so only the methods of classes beneath are called.
    """
    own = list(takewhile(lambda kind: kind not in agent._of_library, type(agent).__mro__))
    places = [place for place, kind in enumerate(own) if _twin(name) in kind.__dict__]
    beneath = own[places[-1] + 1 :] if places else own
    if not any(name in kind.__dict__ for kind in beneath):
        return None
    method: Callable[..., Any] = getattr(super(own[places[-1]], agent) if places else agent, name)
    return method


def _twin(name: str) -> str:
    return f"{name}_async"


def _place(agent: ChatAgent, name: str) -> int:
    """Return where the method stands among the agent and its classes, from the nearest on."""
    if name in agent.__dict__:
        return -1
    return next(place for place, kind in enumerate(type(agent).__mro__) if name in kind.__dict__)
