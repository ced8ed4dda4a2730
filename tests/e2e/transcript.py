"""Whole transcripts: every task that began or ended, every answer taken or refused, every step without one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

# The events that a transcript is made of, and what the machine calls the same thing.
WHAT = {
    "started": "task.started",
    "rejected": "turn.rejected",
    "taken": "turn.taken",
    "passed": "turn.taken",
    "null": "turn.taken",
    "none": "turn.none",
    "finished": "task.finished",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """`what` is an event's type; `by` is a responder, the status of an end, or nobody."""

    what: str
    task: str
    turn: int
    by: str
    document: Json | None

    def __str__(self) -> str:
        where = f"{self.what} {self.task} {self.turn} {self.by}"
        return f"{where}: {json.dumps(self.document, sort_keys=True)}"


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A run from its first message to its end; `error` is type and message of what ended it."""

    lines: tuple[Line, ...]
    status_code: str
    result: Json | None
    error: tuple[str, str] | None

    def __str__(self) -> str:
        end = f"{self.status_code} {json.dumps(self.result, sort_keys=True)} {self.error}"
        return "\n".join([*map(str, self.lines), end])


class Names:
    """Gives each document id a number in the order of appearance: ids are all that may differ between two ways."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def document(self, body: Mapping[str, Any] | None) -> Json | None:
        """A document as it is compared: with numbers for ids, without the ids of agents."""
        if body is None:
            return None
        shown: Json = json.loads(json.dumps(body))
        metadata = shown["metadata"]
        metadata["id"] = self._numbers.setdefault(metadata["id"], len(self._numbers))
        if "parent_id" in metadata:
            # A message that nobody was shown, such as a copy, has no number.
            metadata["parent_id"] = self._numbers.get(metadata["parent_id"])
        # An agent's id is new in each process; the child is known only once there is one.
        if "takes_back" in metadata:
            metadata["takes_back"] = [self._numbers.get(name) for name in metadata["takes_back"]]
        if metadata.get("sender") == "System":
            # A human's SYSTEM text is not tainted when he sits at the program; over HTTP nobody knows who sent it.
            metadata.pop("tainted", None)
        for name in ("agent_id", "child_id"):
            metadata.pop(name, None)
        return shown


def from_events(events: Iterable[Json], run: Json) -> Transcript:
    """The transcript of a served run from its events and its last view."""
    names, lines = Names(), []
    for event in events:
        if event["type"] not in WHAT.values():
            continue
        data = event.get("data") or {}
        by = str(data["status"] if event["type"] == "task.finished" else data.get("responder", ""))
        document = names.document(data.get("document"))
        lines.append(Line(what=event["type"], task=event["task"], turn=event["turn"], by=by, document=document))
    result, error = run["result"], run["error"]
    return Transcript(
        lines=tuple(lines),
        status_code=run["status_code"],
        result=names.document(result["document"]) if result else None,
        error=(error["type"], error["message"]) if error else None,
    )
