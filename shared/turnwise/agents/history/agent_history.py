"""The conversation of an agent with its model: the messages, and the documents that they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy, deepcopy
from typing import Any
from weakref import ref

from turnwise.agents.history.history import MessageHistory
from turnwise.messages.document import ChatDocument
from turnwise.models.base import LLMMessage

Finder = Callable[[str], ChatDocument | None]


class AgentHistory:
    """Messages to and from a model, and the documents that they came from, by id.

    With a `source` the messages are read when someone looks at them, as in a served run. It knows no agent, so that a
    copy of an agent has a copy of it.
    """

    def __init__(self, source: Callable[[], MessageHistory] | None = None) -> None:
        # The messages, None while they are unread.
        self.held: MessageHistory | None = MessageHistory() if source is None else None
        self._source = source
        # Finds documents of earlier turns where they are not in this process.
        self.finder: Finder | None = None
        # Elsewhere all are found from the last one; weak, as they are large.
        self._last: ref[ChatDocument] | None = None
        # The ids of documents that are no longer found here.
        self.forgotten: frozenset[str] = frozenset()
        # The documents of the messages, by id, where the model may take messages back: what the last one answers leads
        # neither to those of earlier runs nor to answers that were not taken. None elsewhere, as they are large.
        self._kept: dict[str, ChatDocument] | None = None

    @property
    def messages(self) -> MessageHistory:
        """The messages; the first one is the system message, once the model was asked."""
        if self.held is None:
            self.held = self._source() if self._source is not None else MessageHistory()
        return self.held

    def replace(self, messages: Iterable[LLMMessage]) -> None:
        """Put these messages in place of all."""
        self.held = self.messages.replaced_by(messages)

    def reread(self) -> None:
        """Let the next look at the messages read them from the source."""
        self.held = None

    def forget(self) -> None:
        """Begin anew, without a message."""
        self.held = MessageHistory()
        if self._kept is not None:
            self._kept = {}

    def continued(self) -> AgentHistory:
        """Return a conversation that continues by itself from the same messages."""
        return self._with(MessageHistory(self.messages, fitted=self.messages.fitted))

    def __deepcopy__(self, memo: dict[int, Any]) -> AgentHistory:
        # The documents stay the same: they may hold values of the program that no one can copy.
        return self._with(deepcopy(self.held, memo))

    def _with(self, held: MessageHistory | None) -> AgentHistory:
        other = copy(self)
        other.held = held
        other._kept = None if self._kept is None else dict(self._kept)
        return other

    def keep_documents(self) -> None:
        """Hold the documents of messages that are said from now on for as long as the messages are here."""
        if self._kept is None:
            self._kept = {}

    def ends_with(self, document: ChatDocument) -> None:
        """Note the document that was said last, from which those before it are found.

        A signal in its text may have addressed it since its message was put here.
        """
        self._last = ref(document)
        meta, said = document.metadata, self.held
        if meta.recipient and said and said[-1].chat_document_id == meta.id and said[-1].recipient != meta.recipient:
            said[-1] = said[-1].changed(recipient=meta.recipient)
        if self._kept is not None:
            self.comes_from(document)

    def comes_from(self, document: ChatDocument) -> None:
        """Note the document of the last message, if that came from it and documents are kept."""
        kept, said, document_id = self._kept, self.held, document.metadata.id
        if kept is None or not said or said[-1].chat_document_id != document_id:
            return
        kept[document_id] = document
        if len(kept) > 2 * len(said):
            here = {message.chat_document_id for message in said}
            self._kept = {known: each for known, each in kept.items() if known in here}

    def documents(self, seen: set[int] | None = None) -> Iterator[ChatDocument]:
        """Yield the last document, what it answers and what stood before it, and so on.

        None whose identity is in `seen`, which grows.
        """
        seen = set() if seen is None else seen
        # A copy for a sub-task, or one that is passed on, keeps the parent of its original, so parents lead past that.
        ahead = [self._last() if self._last is not None else None]
        while ahead:
            document = ahead.pop()
            if document is not None and id(document) not in seen:
                seen.add(id(document))
                yield document
                ahead += (document.linked_before, document.linked_parent)

    def find(self, document_id: str) -> ChatDocument | None:
        """Return a document of this conversation by id, wherever it is kept; None if it is gone."""
        # In a served run not one that happens to be alive here: it may belong to another's transaction.
        if self.finder is not None:
            return self.finder(document_id)
        if self._kept is not None and document_id in self._kept:
            return self._kept[document_id]
        own = next((each for each in self.documents() if each.metadata.id == document_id), None)
        return own if own is not None else ChatDocument.from_id(document_id)
