"""Attributes from JSON, as `encoding.py` writes them."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from types import FunctionType, MethodType
from typing import Any

from pydantic import AnyUrl, BaseModel, ValidationError

from turnwise.agents.attributes.fingerprint import fingerprint
from turnwise.agents.attributes.plain import READERS
from turnwise.base.places import found_at, packages_of
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.wire import decode_document

Find = Callable[[str], ChatDocument | None]


class Decoder:
    """Reads the attributes of one object, `owner`, in the order in which they were written.

    `given` are the objects that the factory made, by name. The rest is as for the `Encoder`; `find` looks up documents
    of the conversation.
    """

    def __init__(
        self,
        owner: object,
        given: Mapping[str, Any],
        tools: Mapping[str, type[ToolMessage]],
        classes: Mapping[str, type[Any]],
        find: Find | None = None,
    ) -> None:
        self._owner = owner
        self._given = given
        self._tools = dict(tools)
        self._classes = classes
        self._find = find
        self._name = ""
        self._no = 0
        self._seen: dict[tuple[str, int], Any] = {}

    def attribute(self, name: str, kept: Any) -> Any:
        """The value of an attribute; raises `LookupError`, `TypeError` or `ValueError` if it cannot be had here."""
        self._name, self._no = name, 0
        return self._value(kept)

    def _value(self, kept: Any) -> Any:
        if isinstance(kept, list):
            made = self._numbered([])
            made.extend(self._value(item) for item in kept)
            return made
        if not isinstance(kept, dict):
            return kept
        if len(kept) == 1:
            [(mark, body)] = kept.items()
            if mark.startswith("$"):
                return self._marked(mark, body)
        plain = self._numbered({})
        for key, item in kept.items():
            plain[key] = self._value(item)
        return plain

    def _marked(self, mark: str, body: Any) -> Any:
        if (read := READERS.get(mark)) is not None:
            return read(body)
        if (decode := _MARKS.get(mark)) is None:
            raise LookupError(f"the mark {mark!r} is not known to this version of Turnwise")
        return decode(self, body)

    def _numbered(self, made: Any) -> Any:
        self._seen[self._name, self._no] = made
        self._no += 1
        return made

    def _items(self, kept: list[Any]) -> list[Any]:
        return [self._value(item) for item in kept]

    def _filled(self, made: Any, pairs: list[Any]) -> Any:
        """A new mapping with the pairs, which may hold it."""
        self._numbered(made)
        for key, item in pairs:
            # The base's method: a Counter or a defaultdict would do more.
            dict.__setitem__(made, self._value(key), self._value(item))
        return made

    def _set(self, kept: list[Any]) -> set[Any]:
        made: set[Any] = self._numbered(set())
        made.update(self._items(kept))
        return made

    def _deque(self, kept: Any) -> deque[Any]:
        made: deque[Any] = self._numbered(deque(maxlen=kept[1]))
        made.extend(self._items(kept[0]))
        return made

    def _defaultdict(self, kept: Any) -> defaultdict[Any, Any]:
        made: defaultdict[Any, Any] = defaultdict()
        self._numbered(made)
        factory = self._value(kept[0])
        if not (factory is None or callable(factory)):
            raise TypeError(f"the factory of a defaultdict is a {type(factory).__name__}")
        made.default_factory = factory
        for key, item in kept[1]:
            made[self._value(key)] = self._value(item)
        return made

    def _ordered(self, kept: list[Any]) -> OrderedDict[Any, Any]:
        made: OrderedDict[Any, Any] = self._numbered(OrderedDict())
        for key, item in kept:
            made[self._value(key)] = self._value(item)
        return made

    def _code(self, place: str) -> Any:
        """The class or function at that place."""
        if place.startswith("tool:"):
            name = place.removeprefix("tool:")
            if name not in self._tools:
                raise LookupError(f"no agent of the application knows the tool {name!r}")
            return self._tools[name]
        if place in self._classes:
            return self._classes[place]
        return found_at(place, packages_of(type(self._owner), *self._tools.values()))

    def _class(self, place: str, base: type[Any]) -> Any:
        """The class at that place, which is to be called; a forged place may name any other class or function."""
        kind = self._code(place)
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise TypeError(f"{place!r} is no {base.__name__}")
        return kind

    def _named_tuple(self, kept: Any) -> Any:
        kind = self._class(kept[0], tuple)
        if not hasattr(kind, "_fields"):
            raise TypeError(f"{kept[0]!r} is not a named tuple")
        return kind._make(self._items(kept[1]))

    def _document(self, body: Any) -> ChatDocument:
        made: ChatDocument = self._numbered(decode_document(body, self._tools, self._find))
        return made

    def _model(self, kept: Any) -> BaseModel:
        kind: type[BaseModel] = self._class(kept[0], BaseModel)
        body = kept[1]
        made: BaseModel = self._numbered(kind.__new__(kind))
        fields = self._fields(body["fields"])
        extra = self._fields(body["extra"]) if "extra" in body else None
        private = self._fields(body["private"]) if "private" in body else None
        if body["form"] == fingerprint(kind):
            if extra is None and kind.model_config.get("extra") == "allow":
                extra = {}
            filled = (fields, set(body["set"]), extra, private)
        else:
            # The class has changed since: its defaults, and its say.
            now = kind.model_validate(fields | (extra or {}), by_name=True)
            known = {name: value for name, value in (private or {}).items() if name in kind.__private_attributes__}
            inner = {**(now.__pydantic_private__ or {}), **known} or None
            filled = (vars(now), now.model_fields_set, now.model_extra, inner)
        names = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
        for name, value in zip(names, filled, strict=True):
            object.__setattr__(made, name, value)
        return made

    def _dataclass(self, kept: Any) -> Any:
        kind = self._class(kept[0], object)
        if not hasattr(kind, "__dataclass_fields__"):
            raise TypeError(f"{kept[0]!r} is not a dataclass")
        made = self._numbered(object.__new__(kind))
        fields = self._fields(kept[1])
        if "__class__" in fields or "__dict__" in fields:
            raise ValueError(f"a {kind.__qualname__} has no such field")
        if kept[2] != fingerprint(kind):
            # As a model does: a field that is gone is left out, a new one has its default.
            known = [each.name for each in dataclasses.fields(kind) if each.init]
            now = kind(**{name: fields[name] for name in known if name in fields})
            fields = {name: getattr(now, name) for name in [*kind.__dataclass_fields__, *getattr(now, "__dict__", ())]}
        for name, value in fields.items():
            object.__setattr__(made, name, value)
        return made

    def _fields(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(item) for name, item in kept.items()}

    def _method(self, name: str) -> Any:
        function = getattr(type(self._owner), name)
        if not isinstance(function, FunctionType):
            raise TypeError(f"{name!r} is no method")
        return MethodType(function, self._owner)

    def _given_one(self, name: str) -> Any:
        if name not in self._given:
            raise LookupError(f"the factory no longer makes {name!r}")
        return self._given[name]


_MARKS: dict[str, Callable[[Decoder, Any], Any]] = {
    "$int": lambda _, body: int(body, 16),
    "$float": lambda _, body: float(body),
    "$same": lambda decoder, body: decoder._seen[body[0], body[1]],
    "$given": Decoder._given_one,
    "$method": Decoder._method,
    "$code": Decoder._code,
    "$tuple": lambda decoder, body: tuple(decoder._items(body)),
    "$frozenset": lambda decoder, body: frozenset(decoder._items(body)),
    "$set": Decoder._set,
    "$bytearray": lambda decoder, body: decoder._numbered(bytearray(READERS["$bytes"](body))),
    "$deque": Decoder._deque,
    "$dict": lambda decoder, body: decoder._filled({}, body),
    "$ordered": Decoder._ordered,
    "$counter": lambda decoder, body: decoder._filled(Counter(), body),
    "$defaultdict": Decoder._defaultdict,
    "$enum": lambda decoder, body: decoder._class(body[0], Enum)[body[1]],
    "$flag": lambda decoder, body: decoder._class(body[0], Flag)(body[1]),
    "$named": Decoder._named_tuple,
    "$url": lambda decoder, body: decoder._class(body[0], AnyUrl)(body[1]),
    "$document": Decoder._document,
    "$model": Decoder._model,
    "$dataclass": Decoder._dataclass,
}

# What reading an attribute may raise, of values that an earlier version of the program wrote.
UNREADABLE = (LookupError, TypeError, ValueError, ValidationError, AttributeError)
