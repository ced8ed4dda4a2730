"""Models of which very many are made, and live at once: cheap to make and to copy, light for the garbage collector."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, Self

from pydantic import BaseModel

# Sets what an object of pydantic consists of. Its own `__setattr__` first looks for a field of that name and takes 20
# times as long, that of `object` twice as long.
_new = object.__new__
_set_values = BaseModel.__dict__["__dict__"].__set__
_set_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class SharedFieldsSet(BaseModel):
    """Base of messages: `model_fields_set` is the same set for all of a class, and holds every name.

    pydantic gives each object a set of the names that it was made with. No one asks a message for it, but the collector
    visits every one: with a thousand conversations in memory, a turn costs a tenth less without them. Setting a field
    adds its name to the set, which changes nothing in one that has them all.
    """

    def model_post_init(self, _context: Any, /) -> None:
        _set_names(self, _shape(type(self)).names)

    @classmethod
    def made(cls, **fields: Any) -> Self:
        """Return an object with these fields, which are not validated: the library's own are of the right types.

        It is what the constructor makes of them, in a third of the time. A class with slots of its own has a
        method `_fill_slots`, which is called here too. Lists are not copied, so they have to be fresh ones.
        """
        shape = _shape(cls)
        values = {**shape.defaults, **fields}
        for name, make in shape.factories:
            if name not in fields:
                values[name] = make()
        made = _new(cls)
        _set_values(made, values)
        _set_names(made, shape.names)
        _set_extra(made, None)
        _set_private(made, None)
        if shape.fill_slots is not None:
            shape.fill_slots(made)
        return made

    def changed(self, **fields: Any) -> Self:
        """Return a copy with these fields, which are not validated; it shares the values of all others.

        It does what `model_copy` does, in a fifth of the calls: the machine makes such copies in each turn.
        """
        extra, private = self.__pydantic_extra__, self.__pydantic_private__
        cls = type(self)
        other = _new(cls)
        _set_values(other, {**self.__dict__, **fields})
        _set_names(other, _shape(cls).names)
        _set_extra(other, None if extra is None else dict(extra))
        _set_private(other, None if private is None else dict(private))
        return other

    def fill(self, **fields: Any) -> None:
        """Set fields of an object that is being made, without validation.

        Pydantic's own way takes ten times as long.
        """
        self.__dict__.update(fields)


class _Shape(NamedTuple):
    """A class of models: the names of all fields, the defaults that objects may share, and what makes the others."""

    names: set[str]
    # Of all fields, in their order.
    defaults: dict[str, Any]
    factories: list[tuple[str, Callable[[], Any]]]
    # Fills the slots that the class has of its own.
    fill_slots: Callable[[Any], None] | None


@lru_cache(maxsize=64)
def _shape(kind: type[BaseModel]) -> _Shape:
    factories: list[tuple[str, Any]] = [
        (name, field.default_factory) for name, field in kind.model_fields.items() if field.default_factory is not None
    ]
    defaults = {name: field.default for name, field in kind.model_fields.items()}
    return _Shape(set(kind.model_fields), defaults, factories, getattr(kind, "_fill_slots", None))
