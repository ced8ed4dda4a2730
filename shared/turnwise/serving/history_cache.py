"""Histories that this process has read, so that a turn does not read a whole conversation again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from turnwise.llm.base import LLMMessage
from turnwise.runs.records import AgentRecord, Reply
from turnwise.runs.store import Store

_MOST = 512


@dataclass(frozen=True)
class _Entry:
    epoch: int
    messages: tuple[LLMMessage, ...]


class HistoryCache:
    """The newest histories by conversation and agent.

    Rows are only ever appended within an epoch, so what was read in this epoch is right as far as it goes, and only
    what came after has to be read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    def load(self, conversation: str, agent: AgentRecord) -> list[LLMMessage]:
        """The stored messages as `agent` says they are."""
        key = (conversation, agent.key)
        with self._lock:
            entry = self._entries.get(key)
        known = entry.messages if entry is not None and entry.epoch == agent.history_epoch else ()
        known = known[: agent.history_len]
        if len(known) < agent.history_len:
            rows = self._store.history(conversation, agent.key, after_idx=len(known) - 1)
            known = (*known, *(LLMMessage.model_validate(row.body) for row in rows))[: agent.history_len]
            self._keep(key, _Entry(agent.history_epoch, known))
        return list(known)

    def accepted(self, conversation: str, agent: AgentRecord, reply: Reply) -> None:
        """Take in what a reply appended; forget the history if the reply cut it."""
        key = (conversation, agent.key)
        if reply.keep_history is not None:
            with self._lock:
                self._entries.pop(key, None)
            return
        with self._lock:
            entry = self._entries.get(key)
        begun = entry is not None and entry.epoch == agent.history_epoch and len(entry.messages) == agent.history_len
        if reply.history and (begun or agent.history_len == 0):
            before = entry.messages if entry is not None and begun else ()
            added = (LLMMessage.model_validate(row.body) for row in reply.history)
            self._keep(key, _Entry(agent.history_epoch, (*before, *added)))

    def _keep(self, key: tuple[str, str], entry: _Entry) -> None:
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST:
                self._entries.popitem(last=False)
