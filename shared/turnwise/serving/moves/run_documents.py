"""The documents of a run within one transaction: decoded once, written only if they are new or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from weakref import WeakMethod

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_registry import owners_in
from turnwise.messages.wire import Registry, decode_document, encode_document
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import Json


class RunDocuments(Mapping[str, ChatDocument]):
    """Documents by id, as the machine needs them; a mapping for `load_state`."""

    def __init__(self, tx: RunTransaction, registry: Registry) -> None:
        self._tx = tx
        self._registry = registry
        self._owners = owners_in(registry)
        self._stored: dict[str, Json] = {}
        self._live: dict[str, ChatDocument] = {}
        self._wanted: dict[str, ChatDocument] = {}
        self._find = _while_it_lasts(self.find)

    def __getitem__(self, document_id: str) -> ChatDocument:
        found = self.find(document_id)
        if found is None:
            raise KeyError(document_id)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def load(self, ids: Iterable[str]) -> None:
        """Read several at once."""
        missing = [i for i in ids if i not in self._live]
        if missing:
            for document_id, body in self._tx.documents(missing).items():
                self._stored[document_id] = body
                self._live[document_id] = self.decode(body)

    def find(self, document_id: str) -> ChatDocument | None:
        """One document, None if the run has none of that id."""
        self.load([document_id])
        return self._live.get(document_id)

    def decode(self, body: Json) -> ChatDocument:
        """A document from its JSON; what it answers is read when someone asks, until the move is made."""
        return decode_document(body, self._registry, self._find)

    def put(self, document: ChatDocument) -> None:
        """Have the document in the record when the move is done, as it is then."""
        self._wanted[document.metadata.id] = document
        self._live[document.metadata.id] = document

    def put_if_new(self, document: ChatDocument) -> None:
        """Have the document in the record too if the move has made it: it has neither been read nor put."""
        if document.metadata.id not in self._live:
            self.put(document)

    def body(self, document_id: str) -> Json | None:
        """The JSON of a document that was put or loaded."""
        document = self._wanted.get(document_id)
        return encode_document(document, self._owners) if document is not None else self._stored.get(document_id)

    def save(self) -> None:
        """Write what is new or changed."""
        for document_id, document in self._wanted.items():
            body = encode_document(document, self._owners)
            if body != self._stored.get(document_id):
                self._tx.put_document(document_id, body, document.metadata.parent_id or None)
                self._stored[document_id] = body
        self._wanted.clear()


def _while_it_lasts(find: Callable[[str], ChatDocument | None]) -> Callable[[str], ChatDocument | None]:
    """Return the method without a hold on its object.

    The documents in it would keep it, and with it all of its transaction, until the garbage collector finds them.
    """
    weak = WeakMethod(find)

    def found(document_id: str) -> ChatDocument | None:
        method = weak()
        return method(document_id) if method is not None else None

    return found
