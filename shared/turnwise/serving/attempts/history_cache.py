"""Histories that this process has read, so that a turn does not read a whole conversation again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from turnwise.models.base import LLMMessage
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AgentRecord, HistoryRow, NewHistory, RunRecord

# For each call at once: a conversation comes back to a process after turns of others.
_PARTS_OF_EACH = 16
# About 35 MB, and the texts themselves.
_MOST_MESSAGES = 50_000


class _Part:
    """An unbroken piece of a history: what one owner keeps of it, from index `start` on.

    Its messages are the first `count` of a list that others hold as well: a longer part is the same list, appended to,
    or each turn of a long conversation would copy it.
    """

    __slots__ = ("count", "epoch", "held", "key", "owner", "start")

    def __init__(
        self, owner: str, key: str, epoch: int, start: int, held: list[LLMMessage] | None = None, count: int = 0
    ) -> None:
        self.owner, self.key, self.epoch, self.start = owner, key, epoch, start
        self.held: list[LLMMessage] = [] if held is None else held
        self.count = count

    @property
    def end(self) -> int:
        return self.start + self.count

    def up_to(self, end: int) -> _Part:
        count = max(0, end - self.start)
        if count >= self.count:
            return self
        return _Part(self.owner, self.key, self.epoch, self.start, self.held, count)

    def messages(self) -> list[LLMMessage]:
        """Return a list of one's own."""
        return self.held[: self.count]

    def with_more(self, added: list[LLMMessage]) -> _Part:
        """Return the part with these messages behind it; not for two threads at once."""
        held = self.held
        if len(held) != self.count:  # another part has continued otherwise
            held = self.messages()
        held.extend(added)
        return _Part(self.owner, self.key, self.epoch, self.start, held, len(held))


class HistoryCache:
    """The newest histories by owner and agent.

    A run's history is what it continues with of its session's, and what it has added itself. The first is remembered
    under the session's conversation and the second under the run, so that nothing of a run that failed is taken for
    the conversation's. Both are only ever appended to within an epoch, so what was read in this epoch is right as far
    as it goes, and only what came after has to be read.

    Beyond 16 for each of the calls `at_once`, or `most_messages`, what was used longest ago is forgotten; what was used
    last never is.
    """

    def __init__(self, store: WorkerRole, at_once: int = 16, *, most_messages: int = _MOST_MESSAGES) -> None:
        self._store = store
        self._most_parts = _PARTS_OF_EACH * at_once
        self._most_messages = most_messages
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[str, str], _Part] = OrderedDict()
        self._messages = 0

    def load(self, run: RunRecord, agent: AgentRecord) -> list[LLMMessage]:
        """The stored messages as `agent` says they are, in a list of the caller's own."""
        if agent.base_len and run.conversation_id is not None:
            begun = _Part(run.conversation_id, agent.key, agent.base_epoch, 0)
            return self._load(begun, agent.base_len) + self._load(_own(run, agent), agent.history_len)
        return self._load(_own(run, agent), agent.history_len)

    def accepted(self, run: RunRecord, agent: AgentRecord, reply: Reply) -> None:
        """Take in what a reply appended; forget the run's part of the history if the reply cut it."""
        own = _own(run, agent)
        if reply.keep_history is not None:
            with self._lock:
                self._forget((own.owner, own.key))
            return
        known = self._known(own)
        if reply.history and known.end == agent.history_len:
            self._grow(known, reply.history)

    def _load(self, part: _Part, end: int) -> list[LLMMessage]:
        known = self._known(part).up_to(end)
        if known.end < end:
            rows = self._store.history(part.owner, part.key, after_idx=known.end - 1, before_idx=end)
            known = self._grow(known, rows)
        return known.messages()

    def _known(self, part: _Part) -> _Part:
        """The part as far as it is remembered."""
        with self._lock:
            found = self._parts.get((part.owner, part.key))
            if found is not None:
                self._parts.move_to_end((part.owner, part.key))
        return found if found is not None and (found.epoch, found.start) == (part.epoch, part.start) else part

    def _grow(self, known: _Part, rows: Iterable[HistoryRow | NewHistory]) -> _Part:
        """Remember the part with the rows behind it."""
        added = [LLMMessage.model_validate(row.body) for row in rows]
        place = (known.owner, known.key)
        with self._lock:
            part = known.with_more(added)
            self._forget(place)
            self._parts[place] = part
            self._messages += part.count
            while len(self._parts) > 1 and self._is_full():
                self._forget(next(iter(self._parts)))
        return part

    def _is_full(self) -> bool:
        return len(self._parts) > self._most_parts or self._messages > self._most_messages

    def _forget(self, place: tuple[str, str]) -> None:
        part = self._parts.pop(place, None)
        if part is not None:
            self._messages -= part.count


def _own(run: RunRecord, agent: AgentRecord) -> _Part:
    """Return what the run itself has added, of which nothing is known yet."""
    return _Part(run.id, agent.key, agent.history_epoch, agent.base_len)
