"""Recorded runs decided again: what was answered is given to today's code, and its decisions are compared.

The move is the one that coordinators make (`moves/move.py`), in a scratch record of its own. No one is asked: each
answer, and what it changed of the agent, is taken from the record, and so are cancellations, deadlines, and what had
been used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.app import App
from turnwise.errors import ConflictError
from turnwise.record.past.private_record import PrivateRecord
from turnwise.record.past.reconstruction import DECISIONS, Past
from turnwise.record.past.restore import ExportedRecord
from turnwise.record.values.records import AgentRecord, Json
from turnwise.serving.moves.move import Mover

# In the data of an event: who carried it out, after what, and in what words.
_NO_DECISION = frozenset(("queue", "version", "message", "waited_for"))
# Where a run continues from what others have decided, which is not decided again.
_TAKEN_OVER = ("run.forked", "run.retried")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first decision that would be another one now.

    `event` is its number in the record; `recorded` and `now` are what was and what would be decided, None where there
    is nothing.
    """

    event: int
    recorded: Json | None
    now: Json | None


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The outcome of a replay: the number of equal decisions, and the first that differed.

    `unknown` says why nothing, or nothing more, could be compared; None if everything was.
    """

    run: str
    task: str
    decisions: int
    difference: Difference | None = None
    unknown: str | None = None

    @property
    def same(self) -> bool:
        """Return whether everything could be compared, and nothing differs."""
        return self.difference is None and self.unknown is None


def replay(app: App, found: Json, scratch: PrivateRecord) -> Replayed:
    """Decide an exported run again with the tasks of `app`."""
    work = _Replay(app, ExportedRecord(found), scratch)
    unknown: str | None = None
    difference: Difference | None = None
    try:
        difference = work.run()
    except ConflictError as error:
        unknown = str(error)
    return Replayed(
        run=found["run"]["id"],
        task=found["run"]["task"],
        decisions=work.decisions,
        difference=difference,
        unknown=unknown,
    )


class _Replay:
    def __init__(self, app: App, record: ExportedRecord, scratch: PrivateRecord) -> None:
        self.decisions = 0
        self._record = record
        self._scratch = scratch
        self._version = app.version
        self._mover = Mover(app=app, llm_queues={}, agent_queues={})

    def run(self) -> Difference | None:
        events, record = self._record.events, self._record
        before = record.at(0)
        forks = [event["seq"] for event in events if event["type"] == "run.forked"]
        start = record.at(forks[-1]) if forks else _with_session(before, record)
        self._scratch.begin(record, start, self._version)
        before = start
        for state in record.pasts.all:
            if state.seq <= start.seq:
                continue
            part = events[before.seq : state.seq]
            if any(event["type"] in _TAKEN_OVER for event in part):
                self._scratch.begin(record, state, self._version)
            elif any(event["type"] in DECISIONS for event in part):
                found = self._moved(before, state, [event for event in part if event["type"] in DECISIONS])
                if found is not None:
                    return found
            else:
                self._scratch.take_over(record, state, _changed_agents(part))
            before = state
        record.at(events[-1]["seq"])  # raises if a part of the events could not be looked at
        return None

    def _moved(self, before: Past, after: Past, recorded: list[Json]) -> Difference | None:
        """Make a move again; the first difference from what was recorded of it."""
        if _undecided(recorded):
            return None
        made = self._scratch.move(after, recorded[0]["at"], self._reply(before, recorded), self._mover.move)
        made = [event for event in made if event["type"] in DECISIONS]
        bodies = self._record.bodies(after.seq)
        names = self._names(after, recorded, made, bodies)
        for no in range(max(len(recorded), len(made))):
            one = _decision(recorded[no], bodies, {}) if no < len(recorded) else None
            other = _decision(made[no], None, names) if no < len(made) else None
            if one != other:
                place = recorded[min(no, len(recorded) - 1)]["seq"]
                return Difference(event=place, recorded=one, now=other)
            self.decisions += 1
        self._scratch.rename(names)
        return self._edited(after, recorded[-1]["seq"])

    def _names(self, after: Past, recorded: list[Json], made: list[Json], bodies: Mapping[str, Json]) -> dict[str, str]:
        """The recorded ids of the documents that the move has made, by the ids that they were given now."""
        pairs = [
            ((now["data"] or {}).get("document"), (was["data"] or {}).get("document"))
            for was, now in zip(recorded, made, strict=False)
        ]
        for no, frame in self._scratch.frames().items():
            was_in = after.frames[no].state if no in after.frames else {}
            pairs += [(frame.state.get(name), was_in.get(name)) for name in ("pending", "no_answer")]
        # Last, what these answer: a message that a pass addressed anew is in no event, nor pending for longer.
        pairs += [
            (_parent(now.get("document")), _parent(bodies.get((was["data"] or {}).get("document", ""))))
            for was, now in zip(recorded, made, strict=False)
        ]
        names: dict[str, str] = {}
        for new, old in pairs:
            if new and old and new not in self._record.document_ids:
                names.setdefault(new, old)
        return names

    def _reply(self, before: Past, recorded: list[Json]) -> tuple[Json, Json | None] | None:
        """The reply that the move took, and its document as it was given."""
        if before.awaiting is None:
            return None
        row = self._record.reply(before.awaiting, recorded[0]["at"])
        if row is None:
            return None
        return row, self._record.bodies(before.seq).get(row["document_id"]) if row["document_id"] else None

    def _edited(self, after: Past, seq: int) -> Difference | None:
        """Return whether the move left the agents otherwise than recorded: it cuts histories, and begins them
        afresh.
        """
        now = self._scratch.agents()
        for key, agent in after.agents.items():
            was_left, left = _lasting(agent), _lasting(now.get(key) or AgentRecord(key=key))
            if was_left != left:
                return Difference(event=seq, recorded={"agent": key, **was_left}, now={"agent": key, **left})
        return None


def _with_session(state: Past, record: ExportedRecord) -> Past:
    """Before the first move, with the agents that the run then took over from its session."""
    begun = record.pasts.all[-1].begun
    return Past(agents=dict(begun), begun=dict(begun), seq=state.seq)


def _changed_agents(part: list[Json]) -> Json:
    """The agents that a reply has changed, by key."""
    found: Json = {}
    for event in part:
        found |= (event["changes"] or {}).get("agents", {})
    return found


def _lasting(agent: AgentRecord) -> Json:
    return {"record": agent.record, "state": agent.state, "messages": agent.history_len}


def _decision(event: Json, bodies: Mapping[str, Json] | None, names: dict[str, str]) -> Json:
    """An event as it is compared, with its document in place of the document's id.

    `bodies` has the documents of recorded events; those of others come with the event, and are given the recorded ids.
    """
    data = {key: value for key, value in (event["data"] or {}).items() if key not in _NO_DECISION}
    document = data.pop("document", None)
    if document is not None:
        data["document"] = _said(bodies.get(document) if bodies is not None else _named(event["document"], names))
    if isinstance(data.get("error"), dict):
        data["error"] = {key: data["error"].get(key) for key in ("type", "place", "tool", "code")}
    return {name: event[name] for name in ("type", "path", "turn", "try_no", "ask_id")} | {"data": data}


def _undecided(recorded: list[Json]) -> bool:
    """Return whether the run was ended without asking its rules: it waited for another, or no one of its version was
    there.
    """
    data = recorded[0]["data"] or {}
    ends = recorded[0]["type"] in ("run.cancelled", "run.failed")
    return len(recorded) == 1 and ends and data.get("status") in ("KILL", "TIMEOUT") and "error" not in data


def _parent(document: Json | None) -> str:
    """Return the id of the message that a document answers, "" for none."""
    return str((document or {}).get("metadata", {}).get("parent_id", ""))


def _said(document: Json | None) -> Json | None:
    """A document without its link to what was made of it later, and without what its tools were not given.

    An earlier version did not write that a text has no value.
    """
    if document is None:
        return None
    if document.get("content_any", "") is None:
        document = {name: value for name, value in document.items() if name != "content_any"}
    if document.get("tool_messages"):
        document = document | {"tool_messages": _given(document["tool_messages"])}
    if "child_id" not in document.get("metadata", {}):
        return document
    metadata = {name: value for name, value in document["metadata"].items() if name != "child_id"}
    return document | {"metadata": metadata}


def _given(value: Any) -> Any:
    """The JSON of tools without fields that are null: earlier versions wrote them for what was not given, too."""
    if isinstance(value, list):
        return [_given(item) for item in value]
    if isinstance(value, dict):
        is_tool = "$tool" in value
        return {name: _given(item) for name, item in value.items() if item is not None or not is_tool}
    return value


def _named(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _named(item, names) for key, item in value.items()}
    return value
