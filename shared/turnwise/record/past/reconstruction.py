"""A run as it was at one of its events, from what its events say had changed (`run_changes.py`)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from turnwise.record.transaction.json_differences import changed
from turnwise.record.values.records import AgentRecord, FrameRecord, Json

# Events that come with a mark, if the program that wrote them knew of marks.
DECISIONS = frozenset(
    (
        *("task.started", "turn.asked", "human.asked", "turn.taken", "turn.rejected", "turn.none", "task.finished"),
        *("limit.reached", "run.completed", "run.failed", "run.cancelled"),
    )
)
ANSWERED = ("turn.replied", "human.answered")
_MARKED = DECISIONS | {"turn.replied"}
_ASKED = ("turn.asked", "human.asked")


@dataclass(frozen=True, kw_only=True)
class Past:
    """The state of a run at event `seq`: its frames, agents, use, and the responder it waited for.

    `awaiting` is the ask that the run waited for, `answered` whether its answer was there already. `begun` are the
    agents that the run took over from its session, as they were.
    """

    seq: int = 0
    frames: dict[int, FrameRecord] = field(default_factory=dict)
    last_frame: int = 0
    agents: dict[str, AgentRecord] = field(default_factory=dict)
    begun: dict[str, AgentRecord] = field(default_factory=dict)
    cost: Decimal = Decimal(0)
    tokens: int = 0
    awaiting: str | None = None
    answered: bool = False
    started: bool = False
    ended: bool = False
    killed: bool = False
    late: bool = False


class Pasts:
    """The states of a run after each of its moves and replies; `events` are all of them, as an export has them.

    `unknown` is the first event that was written by a program that kept nothing of the past, None for none; from there
    on nothing is known.
    """

    def __init__(self, events: Sequence[Json]) -> None:
        self.unknown: int | None = None
        self._events = events
        self._states: list[Past] = [Past()]
        marks = [(event["changes"]["from"], event["seq"]) for event in events if event["changes"]]
        marked = {seq for first, end in marks for seq in range(first, end + 1)}
        last: list[Json] = []
        for event in events:
            if event["type"] == "run.retried":
                self._states.append(self._taken_back(event, last))
                last = []
                continue
            if event["type"] in _MARKED and event["seq"] not in marked:
                self.unknown = event["seq"]
                break
            last.append(event)
            # A human's answer changes nothing but what the event says, so it needs no mark.
            if event["changes"] is not None or event["type"] == "human.answered":
                self._states.append(_next(self._states[-1], last))
                last = []
        self._seqs = [state.seq for state in self._states]

    def _taken_back(self, event: Json, before: Sequence[Json]) -> Past:
        """The state after a retry: as it was once, but what the retry itself says has changed."""
        to = next(state for state in reversed(self._states) if state.seq <= event["data"]["to"])
        if not to.started:
            return replace(to, seq=event["seq"])
        state = _with(_next(self._states[-1], [*before, event | {"changes": None}]), event["changes"] or {})
        again = event["data"]["again"]
        return replace(state, awaiting=to.awaiting, answered=to.answered and not again, started=True, ended=False)

    def at(self, seq: int) -> Past:
        """The state after the last move or reply that ended at event `seq` or before."""
        return self._states[bisect_right(self._seqs, seq) - 1]

    def counts(self, seq: int) -> dict[int, dict[str, int]]:
        """The loop counts of the frames that were open at event `seq`: how often each hash was counted."""
        found: dict[int, Counter[str]] = {no: Counter() for no in self.at(seq).frames}
        for event in self._events[: self.at(seq).seq]:
            for name, added in ((event["changes"] or {}).get("counts") or {}).items():
                if int(name) in found:
                    found[int(name)].update(added)
        return {no: dict(counted) for no, counted in found.items()}

    @property
    def all(self) -> list[Past]:
        """Every state, in order; the first is that of a run that has not begun."""
        return self._states


class PastDocuments:
    """Documents as they were."""

    def __init__(self, documents: Sequence[Json], events: Sequence[Json]) -> None:
        self._newest: dict[str, Json] = {row["id"]: row["body"] for row in documents}
        # By document: how it was before the events with these numbers, the newest first.
        self._before: dict[str, list[tuple[int, Json]]] = {}
        bodies = dict(self._newest)
        for event in reversed(events):
            for id, found in ((event["changes"] or {}).get("documents") or {}).items():
                bodies[id] = changed(bodies[id], found)
                self._before.setdefault(id, []).append((event["seq"], bodies[id]))

    def at(self, seq: int) -> Mapping[str, Json]:
        """Bodies by id as they were at event `seq`; of later documents, how they were when they were made."""
        return _At(self._newest, self._before, seq)


class _At(Mapping[str, Json]):
    def __init__(self, newest: dict[str, Json], before: dict[str, list[tuple[int, Json]]], seq: int) -> None:
        self._newest, self._before, self._seq = newest, before, seq

    def __getitem__(self, id: str) -> Json:
        later = [body for seq, body in self._before.get(id, ()) if seq > self._seq]
        return later[-1] if later else self._newest[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._newest)

    def __len__(self) -> int:
        return len(self._newest)


def _next(before: Past, events: Sequence[Json]) -> Past:
    """The state after `events`, of which the last one tells the changes."""
    state = replace(before, seq=events[-1]["seq"], killed=False, late=False)
    for event in events:
        state = _seen(state, event)
    found = events[-1]["changes"]
    return _with(state, found) if found is not None else state


def _seen(state: Past, event: Json) -> Past:
    kind = event["type"]
    if kind in _ASKED:
        return replace(state, awaiting=event["ask_id"], answered=False)
    if kind in ANSWERED:
        return replace(state, answered=state.answered or event["ask_id"] == state.awaiting)
    if kind in ("run.completed", "run.failed", "run.cancelled"):
        return replace(state, ended=True, awaiting=None, answered=False)
    return replace(state, started=True) if kind == "task.started" else state


def _with(state: Past, found: Json) -> Past:
    frames, last_frame = dict(state.frames), state.last_frame
    for name, inner in found.get("frames", {}).items():
        no = int(name)
        last_frame = max(last_frame, no)
        if inner is None:
            frames.pop(no, None)
            continue
        old = frames.get(no)
        new = changed({"path": old.path, "state": old.state} if old else None, inner)
        frames[no] = FrameRecord(no=no, path=new["path"], state=new["state"])
    begun = {key: _begun(key, told) for key, told in found.get("begun", {}).items()}
    agents = state.agents | begun
    for key, told in found.get("agents", {}).items():
        agents[key] = _agent(agents.get(key) or AgentRecord(key=key), told)
    cost, tokens = found.get("spent", (state.cost, state.tokens))
    return replace(
        state,
        frames=frames,
        last_frame=last_frame,
        agents=agents,
        begun=state.begun | begun,
        cost=Decimal(cost),
        tokens=tokens,
        killed=found.get("killed", False),
        late=found.get("late", False),
    )


def _begun(key: str, told: Json) -> AgentRecord:
    base_len, base_epoch = told["base"]
    return AgentRecord(
        key=key,
        record=told["record"],
        state=told["state"],
        history_len=told["len"],
        history_epoch=told["epoch"],
        history_tokens=told["tokens"],
        base_len=base_len,
        base_epoch=base_epoch,
    )


def _agent(old: AgentRecord, told: Json) -> AgentRecord:
    return replace(
        old,
        record=changed(old.record, told.get("record")),
        state=changed(old.state, told.get("state")),
        history_len=told.get("len", old.history_len),
        history_epoch=told.get("epoch", old.history_epoch),
        history_tokens=told.get("tokens", old.history_tokens),
        base_len=told.get("base", old.base_len),
    )
