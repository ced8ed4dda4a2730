"""The record of an installation as it is read past it: straight from the database, for what has no page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.testing import check

Row = dict[str, Any]

_AT_WORK = """
    SELECT id, last_seq FROM runs WHERE status IN ('queued', 'running')
    AND NOT (session_key IS NOT NULL AND EXISTS (  -- its turn has not come
        SELECT FROM runs AS before WHERE before.session_key = runs.session_key AND before.session_no < runs.session_no
        AND before.finished_at IS NULL))
    AND (
        move_due_at IS NOT NULL OR EXISTS (
            SELECT FROM asks WHERE asks.run_id = runs.id AND (asks.status = 'leased' OR (asks.status = 'runnable'
            AND (asks.due_at IS NULL OR asks.due_at <= extract(epoch FROM now()))
            AND asks.bucket IS NULL))))  -- with one, it waits for room with the provider, whatever goes wrong
"""
_HELD_BY = """
    SELECT DISTINCT runs.id, runs.last_seq FROM asks
    JOIN workers ON workers.id = asks.worker_id JOIN runs ON runs.id = asks.run_id
    WHERE asks.status = 'leased' AND workers.pid = %s
"""
_EVENTS = """
    SELECT run_id, at, concat_ws(' ', type, CASE type WHEN 'ask.deferred' THEN data -> 'waiting_for' ->> 'kind' END)
    AS type FROM events ORDER BY at
"""
_LEFT = {
    "moves that are still due": "SELECT id FROM runs WHERE move_due_at IS NOT NULL AND finished_at IS NOT NULL",
    "reservations that were not settled": "SELECT run_id AS id FROM reservations WHERE settled_at IS NULL",
    "budgets with something reserved": """
        SELECT scope || ' ' || scope_id AS id FROM budgets WHERE reserved_cost <> 0 OR reserved_tokens <> 0
    """,
}


class Record:
    """Reads with a connection for each question; raises `psycopg.OperationalError` while the database is away."""

    def __init__(self, url: str) -> None:
        self._url = url

    def at_work(self) -> dict[str, int]:
        """Runs for which somebody has something to do now, with the number of their last event."""
        return {row["id"]: row["last_seq"] for row in self._all(_AT_WORK)}

    def held_by(self, pid: int) -> dict[str, int]:
        """Runs of which that process holds an ask, likewise."""
        return {row["id"]: row["last_seq"] for row in self._all(_HELD_BY, pid)}

    def progress(self) -> dict[str, tuple[int, bool]]:
        """By run: the number of its last event, and whether it has ended."""
        rows = self._all("SELECT id, last_seq, finished_at IS NOT NULL AS ended FROM runs")
        return {row["id"]: (row["last_seq"], row["ended"]) for row in rows}

    def event_times(self) -> list[tuple[str, float, str]]:
        """Run, time and type of every event; the type of a deferral goes with what it waits for."""
        return [(row["run_id"], row["at"], row["type"]) for row in self._all(_EVENTS)]

    def runs(self) -> dict[str, Row]:
        """Return the usage of each run, by id."""
        rows = self._all("SELECT id, cost, prompt_tokens + completion_tokens AS tokens FROM runs")
        return {row["id"]: row for row in rows}

    def broken_promises(self) -> list[str]:
        """Return the findings of the record's own checker."""
        database = Database(self._url)
        try:
            return [str(violation) for violation in check(Store(database))]
        finally:
            database.close()

    def left_behind(self) -> dict[str, list[str]]:
        """Return what should not be held once everything has ended, by its kind."""
        return {what: [row["id"] for row in self._all(query)] for what, query in _LEFT.items()}

    def events(self, types: Sequence[str]) -> list[tuple[str, int, str]]:
        """Run, number and type of every event of these types."""
        rows = self._all("SELECT run_id, seq, type FROM events WHERE type = ANY(%s)", list(types))
        return [(row["run_id"], row["seq"], row["type"]) for row in rows]

    def undelivered(self) -> list[str]:
        """Webhooks of which no one has noted that they were delivered, with their states."""
        rows = self._all("SELECT concat(id, ' ', state) AS one FROM webhook_deliveries WHERE state <> 'delivered'")
        return [row["one"] for row in rows]

    def attempts(self) -> list[Row]:
        """Return the number of asks by their attempts."""
        return self._all("SELECT attempts, count(*) AS n FROM asks GROUP BY attempts ORDER BY attempts")

    def _all(self, query: str, *parameters: object) -> list[Row]:
        with psycopg.connect(self._url, connect_timeout=3, row_factory=dict_row) as connection:
            rows: Sequence[Row] = connection.execute(query.encode(), parameters).fetchall()
            return list(rows)
