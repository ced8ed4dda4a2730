"""The transcript of a run, without the ids that differ from one time to the next."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

_SAID = frozenset({"task.started", "turn.taken", "turn.rejected", "turn.none", "task.finished"})
# An agent's id is new in each process; a child is known only once there is one.
_FLEETING = ("agent_id", "child_id")


def transcript(events: Iterable[Mapping[str, Any]], documents: Mapping[str, Json]) -> list[str]:
    """A line for each message that was taken or refused, each task that began or ended, each turn without an answer.

    `events` are rows of one run in order, `documents` the bodies by id.
    """
    names, lines = _Names(), []
    for event in events:
        if event["type"] not in _SAID:
            continue
        data = event["data"] or {}
        by = data.get("status") if event["type"] == "task.finished" else data.get("responder", "")
        said = names.shown(documents.get(event["document_id"] or ""))
        lines.append(f"{event['type']} {event['path']} {event['turn']} {by}: {json.dumps(said, sort_keys=True)}")
    return lines


def without_ends(lines: list[str]) -> list[str]:
    """The transcript up to where a person, a deadline or a limit ended the run."""
    kept = list(lines)
    while kept and kept[-1].startswith("task.finished"):
        kept.pop()
    return kept


class _Names:
    """Gives each document's id a number in the order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def shown(self, body: Json | None) -> Json | None:
        if body is None:
            return None
        metadata = {name: value for name, value in body.get("metadata", {}).items() if name not in _FLEETING}
        metadata["id"] = self._numbers.setdefault(metadata.get("id", ""), len(self._numbers))
        if "parent_id" in metadata:
            # A message that no one was shown, such as a copy, has no number.
            metadata["parent_id"] = self._numbers.get(metadata["parent_id"])
        return {**body, "metadata": metadata}
