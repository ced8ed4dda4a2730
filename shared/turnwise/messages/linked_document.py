"""The place of a message in its conversation: what it answers, and what answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self
from weakref import ref

from turnwise.messages.document_metadata import ChatDocMetaData, document_id
from turnwise.models.shared_fields import SharedFieldsSet

if TYPE_CHECKING:
    from turnwise.messages.document import ChatDocument


class KnownDocuments(Protocol):
    """Documents that a program's conversations hold, by id."""

    def find(self, document_id: str) -> ChatDocument | None: ...

    def forget(self, document_id: str) -> None: ...


class LinkedDocument(SharedFieldsSet):
    """The part of `ChatDocument` that links it to the messages around it, by their ids and, here, by themselves."""

    # Where a document is found by its id alone: with the agents of this process, which set this.
    _known: ClassVar[KnownDocuments | None] = None

    # Slots, because private attributes of pydantic make a document twice as slow to create and to look at.
    __slots__ = ("_before", "_child", "_find_parent", "_parent")
    if TYPE_CHECKING:
        metadata: ChatDocMetaData
        # The message that this one answers, if it is in this process; else `_find_parent` looks it up by its id.
        _parent: ChatDocument | None
        # The message before this one in its conversation, if that is not the parent: of a copy, its original.
        _before: ChatDocument | None
        # The message that answered this one; a weak reference, because that message holds this one.
        _child: ref[ChatDocument] | None
        _find_parent: Callable[[str], ChatDocument | None] | None

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._fill_slots()

    def __copy__(self) -> Self:
        other = super().__copy__()
        other._remember(self)
        return other

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        other = super().__deepcopy__(memo)
        other._remember(self)
        return other

    def changed(self, **fields: Any) -> Self:
        """Return a copy of the same id with these fields; it shares the values of all others."""
        other = super().changed(**fields)
        other._remember(self)
        return other

    def with_metadata(self, **marks: Any) -> Self:
        """Return a copy of the same id with these marks in its metadata."""
        return self.changed(metadata=self.metadata.changed(**marks))

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self._fill_slots()

    def _fill_slots(self) -> None:
        """Fill the slots of a new document; `made` calls it too."""
        _set_parent(self, None)
        _set_before(self, None)
        _set_child(self, None)
        _set_find_parent(self, None)

    def _remember(self, other: Self) -> None:
        """Fill the slots with what `other`, of which this is a copy, knows."""
        _set_parent(self, other._parent)
        _set_before(self, other._before)
        _set_child(self, other._child)
        _set_find_parent(self, other._find_parent)

    @staticmethod
    def from_id(id: str) -> ChatDocument | None:
        """Return the message of that id, if it is one of a conversation of a living agent, in a script."""
        return LinkedDocument._known.find(id) if LinkedDocument._known is not None else None

    @staticmethod
    def delete_id(id: str) -> None:
        """Forget the id; the message itself is untouched."""
        if LinkedDocument._known is not None:
            LinkedDocument._known.forget(id)

    @property
    def linked_parent(self) -> ChatDocument | None:
        """The message that this one answers, if it holds it; nothing is looked up."""
        parent = self._parent
        return parent if parent is not None and parent.metadata.id == self.metadata.parent_id else None

    @property
    def linked_before(self) -> ChatDocument | None:
        """The message that stood before this one without being its parent, if it is known; nothing is looked up."""
        return self._before

    @property
    def parent(self) -> ChatDocument | None:
        """The message that this one answers, or None."""
        if self._parent is not None and self._parent.metadata.id == self.metadata.parent_id:
            return self._parent
        if not self.metadata.parent_id:
            return None
        if self._find_parent is not None:
            _set_parent(self, self._find_parent(self.metadata.parent_id))
            return self._parent
        return self.from_id(self.metadata.parent_id)

    @property
    def child(self) -> ChatDocument | None:
        """The message that answered this one, if it is alive in this process."""
        child = self._child() if self._child is not None else None
        if child is not None and child.metadata.id == self.metadata.child_id:
            return child
        return self.from_id(self.metadata.child_id) if self.metadata.child_id else None

    def answered_by(self, child: ChatDocument) -> None:
        """Link this message to the one that answered it first."""
        meta = self.metadata
        if not meta.child_id:
            meta.fill(child_id=child.metadata.id)
            _set_child(self, ref(child))

    def answers(self, parent: ChatDocument) -> None:
        """Link this message, which is being made, to the one it answers, where it is not linked yet."""
        if not self.metadata.parent_id:
            self.metadata.parent_id = parent.metadata.id
        if self.metadata.parent_id == parent.metadata.id:
            _set_parent(self, parent)

    def made_for(self, asked: ChatDocument) -> None:
        """Note what this answer, which an agent has just made in a run, was asked with.

        `as_answer_to` need not copy it then. It holds that message; answers outside of a run, which no one links, would
        hold all that was said before.
        """
        if not self.metadata.parent_id:
            _set_parent(self, asked)

    def answering(self, parent: ChatDocument) -> Self:
        """Return this message linked to the one it answers: a copy, where it is not linked yet."""
        meta, answered = self.metadata, parent.metadata.id
        if not meta.parent_id:
            linked = self.changed(metadata=meta.changed(parent_id=answered))
        elif meta.parent_id == answered and self._parent is not parent:
            linked = self.changed()
        else:
            return self
        _set_parent(linked, parent)
        return linked

    def as_answer_to(self, asked: ChatDocument | None) -> Self:
        """Return this answer linked to what was asked, unless it is linked to another message.

        It is a copy where a program may hold it. Where it is the message that was asked with, or a changed copy of
        that, it becomes a message of its own.
        """
        if asked is None:
            return self
        meta, answered = self.metadata, asked.metadata.id
        if meta.id == answered:
            answer = self.with_metadata(id=document_id(), parent_id=answered, child_id="", takes_back=())
            _set_parent(answer, asked)
            return answer
        if self._parent is not asked or meta.parent_id:
            return self.answering(asked)
        meta.fill(parent_id=answered)
        return self

    def following(self, message: ChatDocument) -> Self:
        """Return a copy that knows what stood before it, though it answers another message."""
        other = self.changed()
        _set_before(other, message)
        return other


# The slots' own setters. Pydantic's `__setattr__` first looks for a field of that name and takes 20 times as long, that
# of `object` twice as long.
_set_parent = LinkedDocument.__dict__["_parent"].__set__
_set_before = LinkedDocument.__dict__["_before"].__set__
_set_child = LinkedDocument.__dict__["_child"].__set__
_set_find_parent = LinkedDocument.__dict__["_find_parent"].__set__
