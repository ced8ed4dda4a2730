"""The documents of a run within one transaction."""

from __future__ import annotations

from collections.abc import Iterable

from turnwise.record.transaction.run_changes import Changes
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.session_queue import earlier_documents
from turnwise.record.transaction.statements import DOCUMENTS
from turnwise.record.transaction.writes import Writes
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import Json, RunRecord


class DocumentBook:
    """Reads each document once and leaves new and changed ones in the transaction's writes."""

    def __init__(self, lock: RunLock, known: KnownRun, writes: Writes, changes: Changes) -> None:
        self._lock = lock
        self._known = known.documents
        self._writes = writes
        self._changes = changes

    def learn(self, id: str, body: Json) -> None:
        """Take a document, just read under the run's lock, as known."""
        self._known.setdefault(id, body)

    def find(self, run: RunRecord, ids: Iterable[str]) -> dict[str, Json]:
        """The bodies of those documents that exist, by id; also those that earlier runs left to the conversation."""
        known = self._known
        wanted = list(dict.fromkeys(ids))
        missing = [name for name in wanted if name not in known]
        if missing:
            rows = self._lock.connection.execute(DOCUMENTS, {"run_id": run.id, "ids": missing})
            known |= {row[0]: row[1] for row in rows}
            missing = [name for name in missing if name not in known]
        if missing:
            known |= earlier_documents(self._lock.connection, run, missing)
        # To the end: the documents that were used longest ago are forgotten first.
        found = {name: known.pop(name) for name in wanted if name in known}
        known |= found
        return found

    def put(self, id: str, no: int, body: Json, parent_id: str | None, now: float) -> None:
        """Keep a document as the run's number `no`; one of the same id is replaced and keeps its number."""
        row = {"run_id": self._writes.run_id, "id": id, "no": no, "parent_id": parent_id, "body": body}
        row["created_at"] = now
        if id in self._writes.documents:
            row["no"] = self._writes.documents[id]["no"]
        if id in self._known:
            self._changes.document(id, self._known.pop(id), body)
        self._writes.documents[id] = row
        self._known[id] = body
