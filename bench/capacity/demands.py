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
    """A turn of a model and one of a tool alternate; `carried`: a worker that replies makes the move and continues.

    `handed` is the share of turns that begin with a claim: all of them, unless runs are carried. `model` is CPU of the
    server of models, which is there in a check only. `idle` is CPU a second of a process with nothing to do, by kind.
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
    carried: bool = False
    handed: float = 1.0

    def of_station(self) -> dict[str, float]:
        """Seconds a turn by station: coordinators, workers, database, broker, model; the mean of both kinds."""
        coordinator = [] if self.carried else [self.move, self.publish]
        handing = [self.claim, self.publish] if self.carried else [self.claim]
        worker = [self.reply, self.wake, *(_times(step, self.handed) for step in handing)]
        every = [*coordinator, *worker]
        call = (self.model_call.python + self.tool_call.python) / 2
        return {
            "coordinators": sum(step.python for step in coordinator),
            "workers": sum(step.python for step in worker) + call,
            "database": sum(step.database for step in every),
            "broker": sum(step.broker for step in every),
            "model": self.model,
        }

    def commits(self) -> float:
        """Commits a turn, on average."""
        return self.move.commits + self.claim.commits * self.handed + self.reply.commits


def demands(found: Measurements) -> Demands:
    """The way of a turn as measured.

    What a process used beyond its parts (Celery, its heartbeat, sweeps) is added to the first step that it does in a
    turn, what the database's processes used beyond them to each in proportion. Where workers carry runs on, the move is
    in the reply, and the costs of a claim and a publication are those of one that occurs.
    """
    carried = found.part("coordinator: move").calls < 0.5
    handed = found.part("worker: claim").calls if carried else 1.0
    more, fit = _beyond(found), _fit(found)
    scale = _database_scale(found)
    messages = sum(found.part(name).calls for name in _SENT)
    each = found.processes["broker"] / 1000 / messages if messages else 0.0

    def step(*names: str, extra: float = 0.0, commits: int = 0) -> Step:
        parts = [found.part(name) for name in names]
        sent = sum(part.calls for part, name in zip(parts, names, strict=True) if name in _SENT)
        # Nobody waits for a notice.
        awaited = [part for part, name in zip(parts, names, strict=True) if name.endswith(("publish", "wake"))]
        return Step(
            python=(sum(_python(found, name, fit) * found.part(name).calls for name in names) + extra) / 1000,
            database=sum(part.database * part.calls for part in parts) * scale / 1000,
            commits=commits,
            broker=each * sent,
            confirm=sum(max(0.0, part.quick - part.cpu) * part.calls for part in awaited) / 1000,
        )

    around = step("worker: responder", extra=more["worker"])
    calls = {
        who: Step(python=_python(found, name, fit) / 1000, database=found.part(name).database * scale / 1000)
        for who, name in (("llm", "worker: answer of llm"), ("agent", "worker: answer of agent"))
    }
    reply, claim = step("worker: reply", commits=1), step("worker: claim", commits=1)
    if carried:
        move, wake = Step(), Step()
        reply, claim = replace(reply, python=reply.python + around.python), _times(claim, 1 / handed)
        publish = _times(step("worker: publish", "worker: notice", "worker: wake"), 1 / handed)
    else:
        move, wake = step("coordinator: move", extra=more["coordinator"], commits=1), step("worker: wake")
        claim = replace(claim, python=claim.python + around.python)
        publish = step("coordinator: publish", "coordinator: notice")
    return Demands(
        move=move,
        publish=publish,
        claim=claim,
        model_call=calls["llm"],
        tool_call=calls["agent"],
        reply=reply,
        wake=wake,
        model=found.processes["model"] / 1000,
        idle={kind: value / 1000 for kind, value in found.idle.items()},
        flush=found.flush / 1000,
        wal_bytes=found.wal_bytes,
        carried=carried,
        handed=handed,
    )


def scaled(found: Demands, factor: float) -> Demands:
    """The same turn where what all conversations share, database and broker, takes `factor` times as long."""
    steps: dict[str, Any] = {
        name: replace(step, database=step.database * factor, broker=step.broker * factor)
        for name, step in vars(found).items()
        if isinstance(step, Step)
    }
    return replace(found, **steps)


_SENT = tuple(
    f"{kind}: {part}" for kind in ("gateway", "coordinator", "worker") for part in ("publish", "wake", "notice")
)


def _times(step: Step, factor: float) -> Step:
    """The same step `factor` times as long; its commits stay."""
    return replace(
        step,
        python=step.python * factor,
        database=step.database * factor,
        broker=step.broker * factor,
        confirm=step.confirm * factor,
    )


def _python(found: Measurements, name: str, fit: dict[str, float]) -> float:
    """CPU in milliseconds of one call of a part."""
    return found.part(name).cpu * fit.get(name.partition(":")[0], 1.0)


def _fit(found: Measurements) -> dict[str, float]:
    """Factors that make the parts of a kind of process no more than it used.

    Parts are counted from the start, with the loading of libraries in the first call of a model; processes after the
    warm-up.
    """
    fit = {}
    for kind, processes in (("coordinator", "coordinators"), ("worker", "workers")):
        parts = sum(cost.cpu * cost.calls for name, cost in found.parts.items() if name.startswith(f"{kind}:"))
        fit[kind] = min(1.0, found.processes[processes] / parts) if parts else 1.0
    return fit


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
