"""Attributes that are read when someone asks for one: most turns ask for none, and so they cost most turns nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwise.agents.attributes.decoding import UNREADABLE, Decoder, Find
from turnwise.errors import ApplicationError

if TYPE_CHECKING:
    from turnwise.agents.attributes.template import Template

DELETED = {"$deleted": True}


class Unread:
    """Attributes of `owner`: those of its template that each turn gets afresh, and those `saved` of it."""

    def __init__(self, owner: Any, template: Template, saved: Mapping[str, Any], find: Find | None) -> None:
        self._owner = owner
        self.template = template
        self.saved = saved
        self._find = find
        # As they were read, None before; an attribute that was deleted is not there.
        self.values: dict[str, Any] | None = None
        # Handlers may start threads.
        self._lock = threading.RLock()

    def __contains__(self, name: str) -> bool:
        return self.values is None and self._may_hold(name)

    def has_for(self, asker: Any, name: str) -> bool:
        """Return whether the attribute can be read; `asker` is the owner or a shallow copy of it."""
        return self._may_hold(name) and (asker is not self._owner or self.values is None)

    def read(self, asker: Any) -> None:
        """Give the owner all of them, except what it was given meanwhile; raises `ApplicationError`.

        If `asker` is a copy of the owner, made by way of its `__dict__`, it gets them too, and is a plain object then.
        """
        with self._lock:
            if self.values is None:
                values = self._decoded()
                for name, value in values.items():
                    vars(self._owner).setdefault(name, value)
                # Last, because other threads look at it first.
                self.values = values
            if asker is not self._owner and vars(asker).pop("_unread", None) is not None:
                for name, value in self.values.items():
                    vars(asker).setdefault(name, value)

    def _decoded(self) -> dict[str, Any]:
        template = self.template
        decoder = Decoder(self._owner, template.objects, template.tools, template.classes, self._find)
        # All at once, and in order, because one may hold a part of another.
        kept = sorted({**template.pristine, **self.saved}.items())
        return {name: self._value(decoder, name, value) for name, value in kept if value != DELETED}

    def _may_hold(self, name: str) -> bool:
        return name in self.saved or name in self.template.pristine

    def _value(self, decoder: Decoder, name: str, kept: Any) -> Any:
        try:
            return decoder.attribute(name, kept)
        except UNREADABLE as error:
            raise ApplicationError(
                f"the attribute {self.template.kind.__name__}.{name} was saved by an earlier turn and cannot be "
                f"restored ({error}); keep the classes that saved values are made of where they were, and give "
                "new fields defaults"
            ) from error
