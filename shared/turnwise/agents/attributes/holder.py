"""Holders of attributes that last between the turns of a served run: agents and tasks."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from turnwise.agents.attributes.template import Template
    from turnwise.agents.attributes.unread import Unread


class Holder:
    """An object whose attributes last.

    `unsaved` names attributes that need not: each turn of a served run begins with them as the factory made them, and
    all turns of a process share the objects in them, for instance a connection that is made when it is needed, or data
    that is large and never changed.
    """

    unsaved: ClassVar[Collection[str]] = ()
    # The classes that the library itself brings, of agents or of tasks; the others in an object's `__mro__` are the
    # program's.
    _of_library: ClassVar[frozenset[type]] = frozenset()
    # What each turn of a served run begins with; None elsewhere.
    _template: Template | None = None
    _unread: Unread | None = None

    # Hidden from type checkers, to which it would say that any attribute exists.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            unread = self.__dict__.get("_unread")
            if unread is not None and unread.has_for(self, name):
                unread.read(self)
            # It is there now; or this raises Python's own error, which may be that of a property.
            return super().__getattribute__(name)

        def __delattr__(self, name: str) -> None:
            self.read_attributes()
            super().__delattr__(name)

    def read_attributes(self) -> None:
        """Read the attributes that were saved, if no one has yet."""
        if self._unread is not None:
            self._unread.read(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # For `copy.copy` and `copy.deepcopy`: a copy has all attributes, and none that are still to be read.
        self.read_attributes()
        made = super().__reduce_ex__(protocol)
        if isinstance(made, tuple) and len(made) > 2 and isinstance(made[2], dict) and "_unread" in made[2]:
            state = {name: value for name, value in made[2].items() if name != "_unread"}
            return (*made[:2], state, *made[3:])
        return made


Holder._of_library = frozenset(Holder.__mro__)
