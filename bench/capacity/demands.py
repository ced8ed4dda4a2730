"""The demands of a turn, as the simulation takes them from the measurements: a way through stations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bench.capacity.measurements import Measurements


@dataclass(frozen=True, kw_only=True)
class Step:
    """One piece of a turn, in seconds: Python first, then the database, a commit, the broker.

    `broker` is its CPU there, `confirm` the wait for its word that it has a message.
    """

    python: float = 0.0
    database: float = 0.0
    commits: int = 0
    broker: float = 0.0
    confirm: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Demands:
    """A turn of a model and one of a tool take turns; `together`: whoever replies makes the move, too.

    `model` is CPU of the server of models, which is there in a check only. `idle` is CPU a second of a process that
    has nothing to do, by kind.
    """

    move: Step
    publish: Step
    claim: Step
    model_call: Step
    tool_call: Step
    reply: Step
    wake: Step
    model: float
    idle: dict[str, float]
    flush: float
    wal_bytes: float
    together: bool = False

    def of_station(self) -> dict[str, float]:
        """Seconds a turn by station: coordinators, workers, database, broker, model; the mean of both kinds."""
        coordinator = [] if self.together else [self.move, self.publish]
        worker = [self.claim, self.reply, self.wake] + ([self.move, self.publish] if self.together else [])
        every = [*coordinator, *worker]
        call = (self.model_call.python + self.tool_call.python) / 2
        return {
            "coordinators": sum(step.python for step in coordinator),
            "workers": sum(step.python for step in worker) + call,
            "database": sum(step.database for step in every),
            "broker": sum(step.broker for step in every),
            "model": self.model,
        }

    def commits(self) -> int:
        """Commits a turn."""
        return self.move.commits + self.claim.commits + self.reply.commits


def demands(found: Measurements) -> Demands:
    """The way of a turn as measured.

    What a process used beyond its parts (Celery, its heartbeat, sweeps) is added to the first step that it does in a
    turn, what the database's processes used beyond them to each in proportion.
    """
    together = found.part("worker: move").calls > 0 or found.part("worker: publish").calls > 0.5
    mover = "worker" if together else "coordinator"
    more = _beyond(found)
    scale = _database_scale(found)
    messages = sum(found.part(name).calls for name in _SENT)
    each = found.processes["broker"] / 1000 / messages if messages else 0.0

    def step(*names: str, extra: float = 0.0, commits: int = 0) -> Step:
        parts = [found.part(name) for name in names]
        sent = sum(part.calls for part, name in zip(parts, names, strict=True) if name in _SENT)
        # Nobody waits for a notice.
        awaited = [part for part, name in zip(parts, names, strict=True) if name.endswith(("publish", "wake"))]
        return Step(
            python=(sum(part.cpu * part.calls for part in parts) + extra) / 1000,
            database=sum(part.database * part.calls for part in parts) * scale / 1000,
            commits=commits,
            broker=each * sent,
            confirm=sum(max(0.0, part.quick - part.cpu) * part.calls for part in awaited) / 1000,
        )

    claim = step("worker: responder", "worker: claim", extra=more["worker"], commits=1)
    calls = {
        who: Step(python=part.cpu / 1000, database=part.database * scale / 1000)
        for who in ("llm", "agent")
        for part in [found.part(f"worker: answer of {who}")]
    }
    move = Step() if together else step("coordinator: move", extra=more["coordinator"], commits=1)
    return Demands(
        move=move,
        publish=step(f"{mover}: publish", f"{mover}: notice"),
        claim=claim,
        model_call=calls["llm"],
        tool_call=calls["agent"],
        reply=step("worker: reply", commits=1),
        wake=Step() if together else step("worker: wake"),
        model=found.processes["model"] / 1000,
        idle={kind: value / 1000 for kind, value in found.idle.items()},
        flush=found.flush / 1000,
        wal_bytes=found.wal_bytes,
        together=together,
    )


def scaled(found: Demands, factor: float) -> Demands:
    """The same turn where what all conversations share, database and broker, takes `factor` times as long."""
    steps: dict[str, Any] = {
        name: replace(step, database=step.database * factor, broker=step.broker * factor)
        for name, step in vars(found).items()
        if isinstance(step, Step)
    }
    return replace(found, **steps)


_SENT = tuple(f"{kind}: {part}" for kind in ("coordinator", "worker") for part in ("publish", "wake", "notice"))


def _beyond(found: Measurements) -> dict[str, float]:
    """CPU in milliseconds a turn of a kind of process that is in none of its parts."""
    beyond = {}
    for kind, processes in (("coordinator", "coordinators"), ("worker", "workers")):
        parts = [cost for name, cost in found.parts.items() if name.startswith(f"{kind}:")]
        beyond[kind] = max(0.0, found.processes[processes] - sum(part.cpu * part.calls for part in parts))
    return beyond


def _database_scale(found: Measurements) -> float:
    """All that the database's processes used, to what they used in the parts of a turn."""
    names = [name for name in found.parts if not name.startswith("gateway")]
    known = sum(found.parts[name].database * found.parts[name].calls for name in names)
    return found.processes["database"] / known if known else 1.0
