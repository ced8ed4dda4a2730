"""Workers and queues as the record shows them, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerInfo:
    """A process that is about to hold leases."""

    kind: str
    queues: tuple[str, ...]
    host: str
    pid: int
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerRecord:
    """A worker incarnation; its state is alive, dead (its lease ran out) or what it was retired with.

    One that is alive and has a `deaf_since` hears nothing from the broker.
    """

    id: str
    kind: str
    queues: list[str]
    host: str
    pid: int
    version: str
    state: str
    lease_until: float
    started_at: float
    beat_at: float
    deaf_since: float | None = None
    draining_since: float | None = None

    @property
    def serves(self) -> bool:
        """Return whether it claims work: it is alive, and was not told to end."""
        return self.state == "alive" and self.draining_since is None

    @property
    def shown_state(self) -> str:
        """Its state; of one that is alive `draining` if it was told to end, `deaf` if it hears nothing."""
        if self.state == "alive" and self.draining_since is not None:
            return "draining"
        return "deaf" if self.state == "alive" and self.deaf_since is not None else self.state


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStat:
    """A queue's asks: free to be claimed, held, not yet due, or paused.

    `oldest_age` is of the oldest free one, in seconds.
    """

    queue: str
    runnable: int
    leased: int
    delayed: int
    oldest_age: float
    paused: int = 0


def empty_queue(name: str) -> QueueStat:
    """Return the numbers of a queue that holds no asks."""
    return QueueStat(queue=name, runnable=0, leased=0, delayed=0, oldest_age=0.0)
