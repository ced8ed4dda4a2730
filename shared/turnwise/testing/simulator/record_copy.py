"""The record of some runs as it is, for those who check what it promises."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from turnwise.record.store import Store
from turnwise.testing.transcripts import transcript

Row = dict[str, Any]


@dataclass(frozen=True)
class History:
    """Every row of a record, by table.

    Read it with `History.of(store)`, when nothing works on the record.
    """

    tables: dict[str, list[Row]]

    @classmethod
    def of(cls, store: Store) -> History:
        """All of what a store keeps; memory is needed for as much."""
        return cls(store.inspector.everything("histories", "loop_counts", "sweep_leases"))

    def rows(self, table: str) -> list[Row]:
        """The rows of a table; none where this version of the record has no such table."""
        return self.tables.get(table, [])

    @cached_property
    def runs(self) -> dict[str, Row]:
        """The runs, by id."""
        return {run["id"]: run for run in self.rows("runs")}

    def of_run(self, table: str, run_id: str) -> list[Row]:
        """The rows of a table that belong to a run."""
        return self._by_run(table).get(run_id, [])

    def transcript(self, run_id: str) -> list[str]:
        """Return what was said in the run, line by line, without the ids that differ from one time to the next."""
        documents = {row["id"]: row["body"] for row in self.of_run("documents", run_id)}
        return transcript(self.of_run("events", run_id), documents)

    def events_around(self, run_id: str, seq: int, n: int = 4) -> tuple[str, ...]:
        """Events of a run before and after one, as lines."""
        near = [event for event in self.of_run("events", run_id) if abs(event["seq"] - seq) <= n]
        return tuple(shown(event) for event in near)

    def _by_run(self, table: str) -> dict[str, list[Row]]:
        if table not in self._indexed:
            found: dict[str, list[Row]] = defaultdict(list)
            for row in self.rows(table):
                found[row["run_id"]].append(row)
            self._indexed[table] = found
        return self._indexed[table]

    @cached_property
    def _indexed(self) -> dict[str, dict[str, list[Row]]]:
        return {}


def shown(event: Row) -> str:
    """An event in one line."""
    place = " ".join(str(event[name]) for name in ("path", "ask_id") if event[name] is not None)
    data = {name: value for name, value in (event["data"] or {}).items() if name != "document"}
    return f"{event['seq']:>4} {event['type']:<16} {place} {data or ''}".rstrip()
