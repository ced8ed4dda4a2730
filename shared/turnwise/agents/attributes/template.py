"""The attributes of an agent or a task as the factory made it: each turn of a served run begins with them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from json import dumps
from operator import is_
from typing import Any

from pydantic import BaseModel

from turnwise.agents.attributes.encoding import Encoder, NotDataError
from turnwise.base.places import place_of
from turnwise.messages.tool_message import ToolMessage

_MISSING = object()
# Bytes of JSON; a larger list or dict of a class is a table, and comparing it at each turn would cost too much.
_LARGEST_COMPARED = 10_000
_CHANGEABLE_TYPES = (list, dict, set, bytearray)


class ClassValue:
    """A list, dict, set or bytearray that a class holds for all its objects, as it was when the application was loaded.

    Raises `NotDataError` if it holds more than data, which cannot be compared, or is large.
    """

    def __init__(self, kind: type[Any], name: str, value: Any) -> None:
        self.kind = kind
        self.name = name
        self.value = value
        self._kept = _encoded(name, value)
        if len(dumps(self._kept)) > _LARGEST_COMPARED:
            raise NotDataError(value, name, "it is large")
        self._before = deepcopy(value)
        # Not so where a class compares by identity.
        self._comparable = bool(self._before == value)

    def is_unchanged(self) -> bool:
        """Return whether the class still holds this object, with the same contents."""
        if vars(self.kind).get(self.name) is not self.value:
            return False
        if self._comparable:
            return bool(self.value == self._before)
        try:
            return bool(_encoded(self.name, self.value) == self._kept)
        except NotDataError:
            return False

    def put_back(self) -> None:
        """Give the class the object with its contents of before."""
        # A copy, because the next change may be within it.
        before = deepcopy(self._before)
        self.value.clear()
        if isinstance(self.value, list | bytearray):
            self.value.extend(before)
        else:
            self.value.update(before)
        setattr(self.kind, self.name, self.value)


class SharedContainer:
    """A list, dict or set of a class of the program's own that the factory made, which all turns share.

    It is not saved, because its class may hold more than its items. Changes in the items themselves are not noticed.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value
        self._before = self._items()

    def is_unchanged(self) -> bool:
        """Return whether it holds the same objects as when the factory made it."""
        now = self._items()
        return len(now) == len(self._before) and all(map(is_, now, self._before))

    def put_back(self) -> None:
        """Give it its items of before."""
        if isinstance(self.value, list):
            list.__setitem__(self.value, slice(None), self._before)
        elif isinstance(self.value, dict):
            dict.clear(self.value)
            dict.update(self.value, zip(self._before[::2], self._before[1::2], strict=True))
        else:
            set.clear(self.value)
            set.update(self.value, self._before)

    def _items(self) -> list[Any]:
        # The methods of the plain types: a class of the program's own may show something else.
        if isinstance(self.value, dict):
            return [part for pair in dict.items(self.value) for part in pair]
        if isinstance(self.value, set):
            return sorted(set.__iter__(self.value), key=id)
        return list(list.__iter__(self.value))


def _encoded(name: str, value: Any) -> Any:
    return Encoder(None, {}, {}, {}).attribute(name, value)


class Surveyor(Encoder):
    """Writes what the factory made, and gives a name to each thing in it that JSON cannot express."""

    def __init__(self, owner: object, tools: Mapping[str, type[ToolMessage]]) -> None:
        self.ids: dict[int, str] = {}
        self.objects: dict[str, Any] = {}
        self.kinds: dict[str, type[Any]] = {}
        super().__init__(owner, self.ids, tools, self.kinds)

    def _value(self, value: Any) -> Any:
        numbered, held = self.numbered, len(self._held)
        try:
            return super()._value(value)
        except NotDataError:
            self.numbered = numbered
            for gone in self._held[held:]:
                del self._seen[id(gone)]
            del self._held[held:]
            name = "".join(self._path)
            self.ids[id(value)], self.objects[name] = name, value
            return {"$given": name}

    def _set(self, value: set[Any] | frozenset[Any]) -> list[Any]:
        # One that holds what JSON cannot express has no order, so that its things cannot be named.
        apart = Encoder(self._owner, {}, self._tools, self.kinds)
        apart._name = self._name
        return apart._set(value)

    def _place(self, kind: type[Any], value: Any) -> str:
        try:
            return super()._place(kind, value)
        except NotDataError:
            # Each process has a class of its own there, which its factory has made.
            self.kinds.setdefault(place_of(kind), kind)
            return place_of(kind)


class Template:
    """The known attributes of `made`, which the factory returned; nothing changes it.

    `own` names the attributes that are not the program's, and `tools` are the application's, by name.
    """

    def __init__(self, made: Any, own: frozenset[str], tools: Mapping[str, type[ToolMessage]]) -> None:
        self.made = made
        self.kind = type(made)
        self.own = own | frozenset(getattr(made, "unsaved", ()))
        self.tools = tools
        # What stays as it is for all turns: values that cannot be changed, and what JSON cannot express.
        self.fixed: dict[str, Any] = {}
        # What each turn gets afresh, as JSON.
        self.pristine: dict[str, Any] = {}
        # Attributes that hold an object of another agent or task as well: whose, by name.
        self.shared: dict[str, str] = {}
        surveyor = Surveyor(made, tools)
        self.values = {name: value for name, value in sorted(vars(made).items()) if name not in self.own}
        for name, value in self.values.items():
            self._survey(surveyor, name, value)
        self.given: Mapping[int, str] = surveyor.ids
        self.objects: Mapping[str, Any] = surveyor.objects
        self.containers = tuple(
            SharedContainer(name, value)
            for name, value in surveyor.objects.items()
            if isinstance(value, list | dict | set)
        )
        self.classes = surveyor.kinds
        # By the identity of what can be changed, the attribute that it is in.
        self.changeable = {id(value): place[0] for value, place in surveyor.places()}
        self.held = frozenset(vars(made))
        self.names = self.held | {"_template"}
        self.class_values = _class_values(self)
        # Where a class has the name as well, or looks for names itself, no one would notice that it was not read yet.
        self.looked_up_otherwise = _own_lookup(self.kind)
        self.read_at_once = self.looked_up_otherwise or any(hasattr(self.kind, name) for name in self.pristine)

    def _survey(self, surveyor: Surveyor, name: str, value: Any) -> None:
        kept = surveyor.attribute(name, value)
        if surveyor.numbered or (isinstance(kept, dict) and ("$method" in kept or "$same" in kept)):
            self.pristine[name] = kept
        else:
            self.fixed[name] = value

    def __deepcopy__(self, memo: object) -> Template:
        return self

    def encoder(self, owner: object) -> Encoder:
        """Return what writes the attributes of `owner`, made over this template."""
        return Encoder(owner, self.given, self.tools, self.classes)

    def before(self, name: str) -> Any:
        """Return the attribute as the factory made it, as JSON; something that equals nothing if it made none."""
        if name in self.pristine:
            return self.pristine[name]
        if name not in self.fixed:
            return _MISSING
        value = self.fixed[name]
        return {"$given": name} if id(value) in self.given else self.encoder(self.made).attribute(name, value)

    def has(self, name: str) -> bool:
        """Return whether the factory made the attribute."""
        return name in self.fixed or name in self.pristine


def _class_values(template: Template) -> tuple[ClassValue, ...]:
    found: list[ClassValue] = []
    if issubclass(template.kind, BaseModel):  # pydantic keeps much on a class
        return ()
    for kind in template.kind.__mro__:
        if kind is object or kind in _library(template.kind):
            continue
        for name, value in vars(kind).items():
            if name.startswith("__") or name in template.own or not isinstance(value, _CHANGEABLE_TYPES):
                continue
            try:
                found.append(ClassValue(kind, name, value))
            except Exception:  # noqa: BLE001 - a program's class may refuse to be copied or compared, in its own way
                continue
    return tuple(found)


def _library(kind: type[Any]) -> frozenset[type]:
    """Return the classes of the library among the bases of an agent's or a task's class."""
    found: frozenset[type] = getattr(kind, "_of_library", frozenset())
    return found


def _own_lookup(kind: type[Any]) -> bool:
    """Return whether a class of the program's own finds attributes in its own way."""
    names = ("__getattr__", "__getattribute__", "__delattr__")
    ours = [base for base in kind.__mro__ if base in _library(kind)]
    return any(getattr(kind, name, None) is not getattr(ours[0], name, None) for name in names if ours)
