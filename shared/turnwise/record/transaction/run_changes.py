"""The changes of a transaction to values of which a run keeps only the newest, told with its last event.

Frames, agents and documents are rows that are replaced. With each mark, an event carries how they differ from before,
so that they can be restored as of that event: to replay a run, to fork it, to continue after a failure. That costs
no statement more, and a long conversation is not written down again at each turn.

    {"from": first event that the mark is about,
     "frames": {no: difference of {"path", "state"}, or null for one that ended},
     "counts": {no: {hash: how often it was counted}},
     "begun": {key: an agent as the session, or the forked run, left it},
     "agents": {key: {"record": difference, "state": difference, "kept": rows of its history that were there before and
                      stayed, "len": rows now, "epoch", "tokens", "base"}},
     "documents": {id: the difference from how it is now to how it was},
     "spent": [cost, tokens] of the run so far, "killed": true, "late": true}

`past/reconstruction.py` reads it.
"""

from __future__ import annotations

from turnwise.record.transaction.json_differences import difference
from turnwise.record.values.records import AgentRecord, FrameRecord, Json, RunRecord


class Changes:
    """The values at the last mark and the present ones, for all that changed since."""

    def __init__(self, last_seq: int) -> None:
        self._seq = last_seq
        self._begin()

    def _begin(self) -> None:
        self._frames: dict[int, tuple[FrameRecord | None, FrameRecord | None]] = {}
        self._agents: dict[str, tuple[AgentRecord, AgentRecord]] = {}
        self._documents: dict[str, tuple[Json, Json]] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._kept: dict[str, int] = {}
        self._begun: dict[str, Json] = {}

    def frame(self, no: int, old: FrameRecord | None, new: FrameRecord | None) -> None:
        """A frame was pushed (no `old`), saved, or popped (no `new`)."""
        first = self._frames[no][0] if no in self._frames else old
        self._frames[no] = (first, new)

    def counted(self, frame_no: int, key: str) -> None:
        """A message was counted once more."""
        counts = self._counts.setdefault(str(frame_no), {})
        counts[key] = counts.get(key, 0) + 1

    def begun(self, agent: AgentRecord) -> None:
        """An agent was taken over from the session."""
        self._begun[agent.key] = whole(agent)

    def agent(self, old: AgentRecord, new: AgentRecord) -> None:
        """An agent was saved, or its history appended to or cut."""
        first = self._agents[old.key][0] if old.key in self._agents else old
        self._agents[old.key] = (first, new)
        self._kept[old.key] = min(self._kept.get(old.key, first.history_len), new.history_len)

    def kept(self, key: str) -> int | None:
        """Return how many rows of an agent's history at the last mark are still there; None: all."""
        return self._kept.get(key)

    def marked_length(self, agent: AgentRecord) -> int:
        """Return how long its history was at the last mark; `agent` as it is now."""
        return self._agents[agent.key][0].history_len if agent.key in self._agents else agent.history_len

    def document(self, id: str, old: Json, new: Json) -> None:
        """A document that was there is another now."""
        first = self._documents[id][0] if id in self._documents else old
        self._documents[id] = (first, new)

    def mark(self, run: RunRecord, now: float) -> Json | None:
        """Return what changed since the last mark, for the run's last event; None if there was none since."""
        if run.last_seq == self._seq:
            return None
        made: Json = {"from": self._seq + 1}
        if self._frames:
            made["frames"] = {str(no): _of_frame(*both) for no, both in self._frames.items()}
        if self._counts:
            made["counts"] = self._counts
        if self._begun:
            made["begun"] = self._begun
        if self._agents:
            made["agents"] = {key: self._of_agent(*both) for key, both in self._agents.items()}
        documents = {id: difference(new, old) for id, (old, new) in self._documents.items()}
        if told := {id: found for id, found in documents.items() if found is not None}:
            made["documents"] = told
        if run.calls:
            made["spent"] = [format(run.cost, "f"), run.prompt_tokens + run.completion_tokens]
        if run.cancel_requested_at is not None:
            made["killed"] = True
        if run.deadline_at is not None and now >= run.deadline_at:
            made["late"] = True
        self._seq = run.last_seq
        self._begin()
        return made

    def _of_agent(self, old: AgentRecord, new: AgentRecord) -> Json:
        made: Json = {}
        for name in ("record", "state"):
            found = difference(getattr(old, name), getattr(new, name))
            if found is not None:
                made[name] = found
        kept = self._kept[new.key]
        if kept < old.history_len:
            made["kept"] = kept
        if (new.history_len, new.history_epoch) != (old.history_len, old.history_epoch):
            made |= {"len": new.history_len, "epoch": new.history_epoch, "tokens": new.history_tokens}
        if new.base_len != old.base_len:
            made["base"] = new.base_len
        return made


def whole(agent: AgentRecord) -> Json:
    """All of an agent, as a mark tells it."""
    return {
        "record": agent.record,
        "state": agent.state,
        "len": agent.history_len,
        "epoch": agent.history_epoch,
        "tokens": agent.history_tokens,
        "base": [agent.base_len, agent.base_epoch],
    }


def _of_frame(old: FrameRecord | None, new: FrameRecord | None) -> Json | None:
    if new is None:
        return None
    before = {"path": old.path, "state": old.state} if old is not None else None
    return difference(before, {"path": new.path, "state": new.state})
