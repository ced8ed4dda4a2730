"""Histories that this process has read, so that a turn does not read a whole conversation again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from turnwise.llm.base import LLMMessage
from turnwise.runs.outcomes import Reply
from turnwise.runs.records import AgentRecord, HistoryRow, NewHistory, RunRecord
from turnwise.runs.store import Store

_MOST = 512
_Messages = tuple[LLMMessage, ...]


@dataclass(frozen=True)
class _Part:
    """An unbroken piece of a history: what one owner keeps of it, from index `start` on."""

    owner: str
    key: str
    epoch: int
    start: int
    messages: _Messages = ()

    @property
    def end(self) -> int:
        return self.start + len(self.messages)

    def up_to(self, end: int) -> _Part:
        return _Part(self.owner, self.key, self.epoch, self.start, self.messages[: max(0, end - self.start)])

    def with_rows(self, rows: Iterable[HistoryRow | NewHistory]) -> _Part:
        added = (LLMMessage.model_validate(row.body) for row in rows)
        return _Part(self.owner, self.key, self.epoch, self.start, (*self.messages, *added))


class HistoryCache:
    """The newest histories by owner and agent.

    A run's history is what it goes on with of its session's, and what it has added itself. The first is remembered
    under the session's conversation and the second under the run, so that nothing of a run that failed is taken for
    the conversation's. Both are only ever appended to within an epoch, so what was read in this epoch is right as far
    as it goes, and only what came after has to be read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[str, str], _Part] = OrderedDict()

    def load(self, run: RunRecord, agent: AgentRecord) -> list[LLMMessage]:
        """The stored messages as `agent` says they are."""
        base: _Messages = ()
        if agent.base_len and run.conversation_id is not None:
            begun = _Part(run.conversation_id, agent.key, agent.base_epoch, 0)
            base = self._load(begun, agent.base_len)
        return [*base, *self._load(_own(run, agent), agent.history_len)]

    def accepted(self, run: RunRecord, agent: AgentRecord, reply: Reply) -> None:
        """Take in what a reply appended; forget the run's part of the history if the reply cut it."""
        own = _own(run, agent)
        if reply.keep_history is not None:
            with self._lock:
                self._parts.pop((own.owner, own.key), None)
            return
        known = self._known(own)
        if reply.history and known.end == agent.history_len:
            self._keep(known.with_rows(reply.history))

    def _load(self, part: _Part, end: int) -> _Messages:
        known = self._known(part).up_to(end)
        if known.end < end:
            rows = self._store.history(part.owner, part.key, after_idx=known.end - 1, before_idx=end)
            known = known.with_rows(rows)
            self._keep(known)
        return known.messages

    def _known(self, part: _Part) -> _Part:
        """The part as far as it is remembered."""
        with self._lock:
            found = self._parts.get((part.owner, part.key))
        return found if found is not None and (found.epoch, found.start) == (part.epoch, part.start) else part

    def _keep(self, part: _Part) -> None:
        place = (part.owner, part.key)
        with self._lock:
            self._parts[place] = part
            self._parts.move_to_end(place)
            while len(self._parts) > _MOST:
                self._parts.popitem(last=False)


def _own(run: RunRecord, agent: AgentRecord) -> _Part:
    """What the run itself has added, of which nothing is known yet."""
    return _Part(run.id, agent.key, agent.history_epoch, agent.base_len)
