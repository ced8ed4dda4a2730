"""The stack of a run's tasks within one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnwise.record.database import driver
from turnwise.record.transaction.run_changes import Changes
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.transaction.statements import FRAMES
from turnwise.record.transaction.writes import Writes
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import FrameRecord, Json


def frames_of(rows: Sequence[Sequence[Any]]) -> dict[int, FrameRecord]:
    """Frames by number, from their numbers, paths and states."""
    return {no: FrameRecord(no=no, path=path, state=state) for no, path, state in rows}


class FrameStack:
    """Reads the frames once and leaves their changes in the transaction's writes."""

    def __init__(self, lock: RunLock, known: KnownRun, writes: Writes, changes: Changes) -> None:
        self._lock = lock
        self._known = known
        self._writes = writes
        self._changes = changes

    def all(self) -> list[FrameRecord]:
        """The frames, outermost first, with the changes of this transaction."""
        frames = self._read()
        return [frames[no] for no in sorted(frames)]

    def push(self, no: int, path: str, state: Json) -> None:
        """Put a task on the stack."""
        frame = FrameRecord(no=no, path=path, state=state)
        self._writes.new_frames[no] = {"run_id": self._known.run.id, "no": no, "path": path, "state": state}
        self._changes.frame(no, None, frame)
        if self._known.frames is not None:
            self._known.frames[no] = frame

    def save(self, no: int, state: Json) -> None:
        """Replace the state of a frame."""
        frames = self._read()
        old = frames[no]
        if no in self._writes.new_frames:
            self._writes.new_frames[no]["state"] = state
        else:
            self._writes.saved_frames[no] = state
        frames[no] = FrameRecord(no=no, path=old.path, state=state)
        self._changes.frame(no, old, frames[no])

    def pop(self, no: int) -> None:
        """Take a frame off the stack, its loop counts with it."""
        self._changes.frame(no, self._read().pop(no), None)
        self._known.counts.pop(no, None)
        if self._writes.new_frames.pop(no, None) is None:
            self._writes.saved_frames.pop(no, None)
            self._writes.popped_frames.append(no)
        for place in [place for place in self._writes.counts if place[0] == no]:
            del self._writes.counts[place]

    def _read(self) -> dict[int, FrameRecord]:
        frames = self._known.frames
        if frames is None:
            rows = driver.fetch(self._lock.connection, FRAMES, {"run_id": self._known.run.id})
            frames = frames_of(rows)
            for no, pushed in self._writes.new_frames.items():
                frames[no] = FrameRecord(no=no, path=pushed["path"], state=pushed["state"])
            self._known.frames = frames
        return frames
