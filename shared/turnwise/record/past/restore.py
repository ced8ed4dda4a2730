"""The rows of a run as it was at one of its events, written again: under another id, or in a record of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError
from turnwise.record.database.burst import insert_all
from turnwise.record.database.rows import as_row
from turnwise.record.database.schema import (
    agent_states,
    asks,
    documents,
    frames,
    histories,
    loop_counts,
    receipts,
    replies,
)
from turnwise.record.past.export import own_fields
from turnwise.record.past.reconstruction import Past, PastDocuments, Pasts
from turnwise.record.states import RunStatus
from turnwise.record.values.records import AgentRecord, Json

# Events from which a deadline counts.
_BEGINNINGS = ("run.accepted", "run.forked", "run.retried")
_LATER = 2**62  # the epoch of rows that were never cut off


class ExportedRecord:
    """An export, with what it says of the past.

    Raises `ConflictError` (`past_unknown`) where it is asked for what was not kept.
    """

    def __init__(self, found: Json) -> None:
        self.found = found
        self.run: Json = found["run"]
        self.events: list[Json] = found["events"]
        self.pasts = Pasts(self.events)
        self.document_ids = frozenset(row["id"] for row in found["documents"])
        self._documents = PastDocuments(found["documents"], self.events)
        self._rows: dict[tuple[str, str, int], list[tuple[int, Json]]] = {}
        for row in found["histories"]:
            place = (row["of"], row["key"], row["idx"])
            self._rows.setdefault(place, []).append((row["aside"] or _LATER, row))
        self._last = {key: agent.history_epoch for key, agent in self.pasts.all[-1].agents.items()}

    @property
    def deadline(self) -> float | None:
        """The seconds that the run was given when it began last, by a retry or at first; None without a deadline."""
        if self.run["deadline_at"] is None:
            return None
        begun_at: float = max(event["at"] for event in self.events if event["type"] in _BEGINNINGS)
        seconds: float = self.run["deadline_at"] - begun_at
        return seconds

    def at(self, seq: int) -> Past:
        """The run after the last move or reply that ended at `seq` or before.

        Raises `ConflictError` (`past_unknown`) where a version wrote its events that kept nothing of the past.
        """
        if self.pasts.unknown is not None and seq >= self.pasts.unknown:
            raise ConflictError(
                f"event {self.pasts.unknown} of {self.run['id']} was written by a version of Turnwise that kept "
                f"nothing of the past; only what was before it is known",
                code="past_unknown",
            )
        return self.pasts.at(seq)

    def before_an_end(self, seq: int) -> Past:
        """The run after the last move or reply that ended at `seq` or before, and was not the run's end."""
        past = self.at(seq)
        while past.ended:
            past = self.at(past.seq - 1)
        return past

    def before_the_end(self) -> Past:
        """The run as it was before the move that ended it."""
        return self.before_an_end(self.events[-1]["seq"])

    def kept_at_the_end(self, key: str, past: Past) -> int:
        """Return how many messages of an agent's history have stayed what they were from `past` until now."""
        told = [((event["changes"] or {}).get("agents") or {}).get(key, {}) for event in self.events[past.seq :]]
        cut_to: list[int] = [each["kept"] for each in told if "kept" in each]
        return min([past.agents[key].history_len, *cut_to])

    def history(self, past: Past, key: str, start: int = 0) -> list[Json]:
        """An agent's history at that time, from index `start` on, as rows without an owner."""
        agent = past.agents[key]
        return [self._row(past, agent, idx) for idx in range(start, agent.history_len)]

    def bodies(self, seq: int) -> Mapping[str, Json]:
        """Documents by id as they were at event `seq`; of later ones, how they were when they were made."""
        return self._documents.at(seq)

    def documents(self, seq: int) -> list[Json]:
        """The documents that there were at event `seq`, as they were."""
        bodies = self.bodies(seq)
        at = self.events[seq - 1]["at"]
        return [row | {"body": bodies[row["id"]]} for row in self.found["documents"] if row["created_at"] <= at]

    def ask(self, ask_id: str) -> Json:
        """The row of an ask."""
        found: Json = next(row for row in self.found["asks"] if row["id"] == ask_id)
        return found

    def question(self, past: Past) -> Json | None:
        """The event that asked the person whose answer was awaited at that time."""
        asked = (event for event in self.events[: past.seq] if event["ask_id"] == past.awaiting)
        return next((event for event in asked if event["type"] == "human.asked"), None)

    def reply(self, ask_id: str, at: float) -> Json | None:
        """The reply to an ask that counted at that time, None if there was none yet."""
        retried = max((e["at"] for e in self.events if e["type"] == "run.retried" and e["at"] < at), default=0.0)
        rows = [row for row in self.found["replies"] if row["ask_id"] == ask_id and row["at"] <= at]
        counted = [row for row in rows if row["accepted"] or (row["reason"] == "retried" and row["at"] > retried)]
        return counted[-1] if counted else None

    def _row(self, past: Past, agent: AgentRecord, idx: int) -> Json:
        begun = past.begun.get(agent.key)
        if idx < agent.base_len and begun is not None:
            row = self._live("session", agent.key, idx, begun.base_epoch)
        else:
            row = self._live("run", agent.key, idx, agent.history_epoch)
            if row is None and self.run["status"] == RunStatus.COMPLETED:
                row = self._live("session", agent.key, idx, self._last[agent.key])
        if row is None:
            raise ConflictError(
                f"message {idx} of the history of {agent.key!r} in {self.run['id']} is gone; its session was deleted, "
                "or an older version of Turnwise has cut it off",
                code="past_unknown",
            )
        return {name: value for name, value in row.items() if name not in ("of", "aside")}

    def _live(self, of: str, key: str, idx: int, epoch: int) -> Json | None:
        """The row that was at `idx` in `epoch`: it was cut off later than the others that came after it."""
        later = [(cut, row) for cut, row in self._rows.get((of, key, idx), ()) if cut > epoch]
        return min(later, key=lambda item: item[0])[1] if later else None


def write_past(connection: Connection, record: ExportedRecord, past: Past, run_id: str) -> None:
    """Write frames, loop counts, agents, histories and documents as they were, under `run_id`; the run's row not."""
    counts = record.pasts.counts(past.seq)
    owner = {"run_id": run_id}
    _insert(connection, frames, [as_row(frame, run_id=run_id) for frame in past.frames.values()])
    _insert(
        connection,
        loop_counts,
        [owner | {"frame_no": no, "key": key, "n": n} for no, kept in counts.items() for key, n in kept.items()],
    )
    _insert(connection, documents, [owner | row for row in record.documents(max(past.seq, 1))])
    for key, agent in past.agents.items():
        write_agent(connection, run_id, agent, record.history(past, key))


def write_agent(connection: Connection, run_id: str, agent: AgentRecord, rows: Sequence[Json]) -> None:
    """Write an agent with its whole history as one of the run's own, in place of what there was of it."""
    for table in (agent_states, histories):
        connection.execute(sa.delete(table).where(table.c.owner == run_id, table.c.key == agent.key))
    own = replace(agent, base_len=0, base_epoch=0)
    _insert(connection, agent_states, [as_row(own, owner=run_id)])
    _insert(connection, histories, [row | {"owner": run_id} for row in rows])


def write_asks(connection: Connection, run_id: str, rows: Iterable[Json]) -> None:
    """Write the rows of asks."""
    _insert(connection, asks, [row | {"run_id": run_id} for row in rows])


def write_replies(connection: Connection, run_id: str, rows: Iterable[Json]) -> None:
    """Write the rows of replies."""
    _insert(connection, replies, [own_fields(row) | {"run_id": run_id} for row in rows])


def write_receipts(connection: Connection, run_id: str, rows: Iterable[Json]) -> None:
    """Write the rows of receipts."""
    _insert(connection, receipts, [row | {"run_id": run_id} for row in rows])


def _insert(connection: Connection, table: sa.Table, rows: Sequence[Json]) -> None:
    insert_all(connection, sa.insert(table), rows)
