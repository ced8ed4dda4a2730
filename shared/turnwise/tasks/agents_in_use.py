"""The agents that runs of this process are using: a conversation is between one run and its agents."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from turnwise.base.cancellation import Cancellation, current_cancellation
from turnwise.errors import ConfigurationError
from turnwise.tasks.tree import TaskTree

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


class AgentsInUse:
    """The run that uses each agent, by the agent's `id`; an agent that no run uses has no entry."""

    def __init__(self) -> None:
        self._holds: dict[int, AgentHold] = {}
        # Reentrant: while it is held, the collector may close a run that was left in the middle, which releases its
        # agents in this very thread.
        self._lock = threading.RLock()

    def hold(self, tree: TaskTree, cancellation: Cancellation) -> AgentHold:
        """Keep the agents of a run for the block. Entering it raises `ConfigurationError` if another run uses one.

        A run around this one does not count as another: the handler of an agent may run that agent's own task.
        """
        return AgentHold(self, tree, cancellation)

    def _take(self, hold: AgentHold) -> None:
        with self._lock:
            for key, agent in hold.agents.items():
                other = self._holds.get(key)
                if other is not None:
                    if not hold.is_within(other):
                        raise ConfigurationError(_refusal(hold, other, agent))
                    hold.outer[key] = other
            for key in hold.agents:
                self._holds[key] = hold

    def _release(self, hold: AgentHold) -> None:
        with self._lock:
            hold.ended = True
            for key in hold.agents:
                if self._holds.get(key) is not hold:
                    continue  # an inner run outlives this one, such as one in the background; it releases the agent
                outer = hold.outer.get(key)
                while outer is not None and outer.ended:
                    outer = outer.outer.get(key)
                if outer is None:
                    del self._holds[key]
                else:
                    self._holds[key] = outer


class AgentHold:
    """The block in which a run uses the agents of its tree."""

    __slots__ = ("_among", "_cancellation", "agents", "ended", "outer", "root", "task")

    def __init__(self, among: AgentsInUse, tree: TaskTree, cancellation: Cancellation) -> None:
        self._among = among
        # The run is known by its token, which is in the context of all that is called within it.
        self._cancellation = cancellation
        self.task = tree.root.name
        self.root = tree.tasks[tree.root.path].agent
        # The agents themselves as well: the `id` of one that is gone may become another's.
        self.agents: dict[int, ChatAgent] = {id(agent): agent for agent in tree.agents.values()}
        # The holds of runs around this one, which have their agents back after it.
        self.outer: dict[int, AgentHold] = {}
        self.ended = False

    def __enter__(self) -> None:
        self._among._take(self)

    def __exit__(self, *_: object) -> None:
        self._among._release(self)

    def is_within(self, other: AgentHold) -> bool:
        """Return whether the other run is around this one, by the call's context or by the caller it was given."""
        outer = other._cancellation
        return outer.is_around(self._cancellation) or outer.is_around(current_cancellation())


def _refusal(hold: AgentHold, other: AgentHold, agent: ChatAgent) -> str:
    if hold.task == other.task and hold.root is other.root:
        found = f"the task {hold.task!r} is running already"
    else:
        found = (
            f"the task {hold.task!r} cannot run now: its agent {agent.config.name!r} is in use by a run of the task "
            f"{other.task!r}"
        )
    return (
        f"{found}; expected one run at a time, because a history is one conversation. Run a clone of it, "
        "`task.clone(1)`, for a conversation of its own, or wait for the other run"
    )


# Any two tasks may share an agent, so what is in use has to be known to all runs of this process. Nothing stays: a
# run that ends, however it does, takes its entries with it.
agents_in_use = AgentsInUse()
