"""Attributes as JSON: every type is kept exactly, and what two places share is shared again when it is read.

Text, numbers, true, false, null, lists and dicts stand for themselves. Anything else is an object with one key, a mark
that begins with `$`; a dict whose own keys look like that, or are no text, is written as pairs. Each object that can
be changed has a number within its attribute, by the order in which it is met, and is written once: `{"$same": [name,
number]}` stands wherever it is met again.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, Flag
from json import dumps
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from pydantic import AnyUrl, BaseModel

from turnwise.agents.attributes.fingerprint import fingerprint
from turnwise.agents.attributes.plain import FORMS
from turnwise.base.json_bounds import MAX_DEPTH, MAX_NUMBER
from turnwise.base.places import is_found, place_of
from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_registry import owners_in, place_of_tool
from turnwise.messages.wire import encode_document

_HEAP_TYPE = 1 << 9  # of `type.__flags__`: made by a class statement, not in C
# Types of keys whose text tells them apart, in every process.
_PLAIN_KEYS = frozenset((str, int, float, bool, bytes, type(None)))
_LONGEST_PART = 60  # characters, in errors
_ADVICE_FOR_OBJECTS = "if it is data, make its class a dataclass or a pydantic model"


class NotDataError(Exception):
    """A value that JSON cannot express; `place` is where it was found, `reason` what else there is to say."""

    def __init__(self, value: Any, place: str, reason: str = "") -> None:
        super().__init__(place)
        self.value = value
        self.place = place
        self.reason = reason


class Encoder:
    """Writes the attributes of one object, `owner`, one after the other.

    `given` names what the factory made, by identity: it is in every process. `tools` are the classes of tools that the
    application knows by name. `classes` are those that are found without being importable.
    """

    def __init__(
        self,
        owner: object,
        given: Mapping[int, str],
        tools: Mapping[str, type[ToolMessage]],
        classes: dict[str, type[Any]],
    ) -> None:
        self._owner = owner
        self._given = given
        self._tools = tools
        self._owners = owners_in(tools)
        self._classes = classes
        self._seen: dict[int, tuple[str, int]] = {}
        self._held: list[Any] = []  # what is numbered must not die, or another may get its id
        self._name = ""
        self._path: list[str] = []
        # Of the attribute written last: how many objects in it can be changed.
        self.numbered = 0

    def attribute(self, name: str, value: Any) -> Any:
        """The value of an attribute; raises `NotDataError`."""
        self._name, self._path, self.numbered = name, [name], 0
        return self._value(value)

    def places(self) -> list[tuple[Any, tuple[str, int]]]:
        """Return each object that can be changed, with its attribute and its number in it."""
        return [(value, self._seen[id(value)]) for value in self._held]

    # --- one value ---------------------------------------------------------------------------------------------

    def _value(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is str or kind is bool:
            return value
        if kind is int:
            return value if -MAX_NUMBER < value < MAX_NUMBER else {"$int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if len(self._path) > MAX_DEPTH:
            raise self._refused(value, f"it is nested deeper than {MAX_DEPTH} levels")
        if (form := FORMS.get(kind)) is not None:
            try:
                return {form.mark: form.write(value)}
            except TypeError as error:
                raise self._refused(value, str(error)) from error
        if kind is tuple:
            return {"$tuple": self._items(value)}
        if kind is frozenset:
            return {"$frozenset": self._set(value)}
        if (given := self._given.get(id(value))) is not None:
            return {"$given": given}
        if isinstance(value, (type, FunctionType, BuiltinFunctionType, MethodType)):
            return self._code(value)
        if isinstance(value, Enum):
            return self._enum(value)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return {"$named": [self._place(kind, value), self._items(value)]}
        if isinstance(value, AnyUrl):
            return {"$url": [self._place(kind, value), str(value)]}
        return self._changeable(value, kind)

    def _changeable(self, value: Any, kind: type[Any]) -> Any:
        if id(value) in self._seen:
            return {"$same": list(self._seen[id(value)])}
        write = self._writer(value, kind)
        self._seen[id(value)] = (self._name, self.numbered)
        self._held.append(value)
        self.numbered += 1
        return write(value)

    def _writer(self, value: Any, kind: type[Any]) -> Callable[[Any], Any]:
        """Return what writes a value that can be changed; raises `NotDataError`."""
        if (write := _CONTAINERS.get(kind)) is not None:
            return lambda v: write(self, v)
        if isinstance(value, ChatDocument):
            return self._document
        if isinstance(value, BaseModel):
            return self._model
        if dataclasses.is_dataclass(value):
            return self._dataclass
        raise self._refused(value, _ADVICE_FOR_OBJECTS if kind.__flags__ & _HEAP_TYPE else "")

    # --- containers --------------------------------------------------------------------------------------------

    def _items(self, values: Iterable[Any]) -> list[Any]:
        made = []
        for index, item in enumerate(values):
            self._path.append(f"[{index}]")
            made.append(self._value(item))
            self._path.pop()
        return made

    def _fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        made = {}
        for name, item in fields.items():
            self._path.append(f".{name}")
            made[name] = self._value(item)
            self._path.pop()
        return made

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            made = {}
            for key, item in value.items():
                self._path.append(f"[{key!r}]")
                made[key] = self._value(item)
                self._path.pop()
            return made
        return {"$dict": self._pairs(value)}

    def _set(self, value: set[Any] | frozenset[Any]) -> list[Any]:
        # The order of a set is not the same in every process, and the numbers follow the order.
        apart = type(self)(self._owner, self._given, self._tools, self._classes)
        return self._items(sorted(value, key=lambda item: dumps(apart.attribute(self._name, item), sort_keys=True)))

    def _pairs(self, value: Mapping[Any, Any]) -> list[Any]:
        made = []
        for index, (key, item) in enumerate(value.items()):
            self._path.append(f".keys()[{index}]")
            kept = self._value(key)
            # Two keys of other types may look the same, or have another address in each process.
            self._path[-1] = f"[{key!r}]" if type(key) in _PLAIN_KEYS else f".values()[{index}]"
            made.append([kept, self._value(item)])
            self._path.pop()
        return made

    # --- classes -----------------------------------------------------------------------------------------------

    def _place(self, kind: type[Any], value: Any) -> str:
        """Return where other processes find the class."""
        if issubclass(kind, ToolMessage) and self._tools.get(kind.name()) is kind:
            return f"tool:{kind.name()}"
        if (owner := self._owners.get(kind)) is not None:
            return f"tool:{place_of_tool(kind.name(), owner)}"
        place = place_of(kind)
        if self._classes.get(place) is not kind and not is_found(kind):
            raise self._refused(
                value, f"other processes cannot find its class {kind.__qualname__!r}; define it at the top of a module"
            )
        return place

    def _document(self, value: ChatDocument) -> Any:
        try:
            return {"$document": encode_document(value, self._owners)}
        except TypeError as error:
            raise self._refused(value, str(error)) from error

    def _model(self, value: BaseModel) -> Any:
        kind = type(value)
        place = self._place(kind, value)
        fields = {name: item for name, item in vars(value).items() if name in kind.model_fields}
        body: dict[str, Any] = {
            "fields": self._fields(fields),
            "set": sorted(value.model_fields_set),
            "form": fingerprint(kind),
        }
        if value.model_extra:
            body["extra"] = self._fields(value.model_extra)
        if value.__pydantic_private__:
            body["private"] = self._fields(value.__pydantic_private__)
        return {"$model": [place, body]}

    def _dataclass(self, value: Any) -> Any:
        kind = type(value)
        names = [field.name for field in dataclasses.fields(kind)]
        names += [name for name in getattr(value, "__dict__", ()) if name not in names]
        fields = {name: getattr(value, name) for name in names if hasattr(value, name)}
        return {"$dataclass": [self._place(kind, value), self._fields(fields), fingerprint(kind)]}

    def _enum(self, value: Enum) -> Any:
        place = self._place(type(value), value)
        if isinstance(value, Flag):
            return {"$flag": [place, value.value]}
        return {"$enum": [place, value.name]}

    def _code(self, value: Any) -> Any:
        if isinstance(value, MethodType):
            if value.__self__ is self._owner and getattr(type(self._owner), value.__name__, None) is value.__func__:
                return {"$method": value.__name__}
            raise self._refused(value)
        if isinstance(value, type) and issubclass(value, ToolMessage) and self._tools.get(value.name()) is value:
            return {"$code": f"tool:{value.name()}"}
        if isinstance(value, BuiltinFunctionType) or not is_found(value):
            raise self._refused(value)
        return {"$code": place_of(value)}

    def _refused(self, value: Any, reason: str = "") -> NotDataError:
        return NotDataError(value, "".join(map(_short, self._path)), reason)


def _short(part: str) -> str:
    return part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "..."


_CONTAINERS: dict[type[Any], Callable[[Encoder, Any], Any]] = {
    list: Encoder._items,
    dict: Encoder._dict,
    set: lambda encoder, v: {"$set": encoder._set(v)},
    bytearray: lambda _, v: {"$bytearray": FORMS[bytes].write(v)},
    deque: lambda encoder, v: {"$deque": [encoder._items(v), v.maxlen]},
    OrderedDict: lambda encoder, v: {"$ordered": encoder._pairs(v)},
    Counter: lambda encoder, v: {"$counter": encoder._pairs(v)},
    defaultdict: lambda encoder, v: {"$defaultdict": [encoder._value(v.default_factory), encoder._pairs(v)]},
}
