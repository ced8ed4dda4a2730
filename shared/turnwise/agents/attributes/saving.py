"""Before a turn: giving an object the attributes that were saved. After it: finding those that have changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from json import dumps
from operator import is_not
from typing import Any

from pydantic import BaseModel

from turnwise.agents.attributes.decoding import Find
from turnwise.agents.attributes.encoding import Encoder, NotDataError
from turnwise.agents.attributes.template import Template
from turnwise.agents.attributes.unread import DELETED, Unread
from turnwise.base.json_bounds import MAX_ATTRIBUTES
from turnwise.errors import AttributeNotSavedError

Saved = dict[str, Any]

_KEPT_KINDS = "what JSON can express, pydantic models, dataclasses, enums, sets, tuples, dates and their like"
_ADVICE = (
    "make it in __init__, which every process calls; or keep in `State`, or in another attribute, what it can be made "
    "from; or name it in `unsaved` of the class if the next turn may begin without it"
)
# Types whose values no one can change, so that the same object is the same value.
_SCALARS = frozenset((str, int, bool, float, bytes, type(None)))


def begin(owner: Any, template: Template, saved: Mapping[str, Any], find: Find | None = None) -> None:
    """Have `owner`, a copy of what the factory made, begin a turn with the attributes `saved`."""
    own = vars(owner)
    if "_unread" in own:  # it has begun before
        for name in [name for name in own if name not in template.own]:
            del own[name]
        own.update(template.fixed)
        del own["_unread"]
    if not saved and not template.pristine:
        return
    for name in (*template.pristine, *saved):
        own.pop(name, None)
    unread = own["_unread"] = Unread(owner, template, saved, find)
    if template.read_at_once or any(hasattr(template.kind, name) for name in saved):
        unread.read(owner)


def found(owner: Any, template: Template) -> Saved:
    """Return the attributes that differ from what the factory made, as JSON; raises `AttributeNotSavedError`."""
    _check_surroundings(template)
    own = vars(owner)
    unread: Unread | None = own.get("_unread")
    if unread is None and own.keys() == template.names and not _moved(own, template.fixed):
        return {}
    return _Search(owner, template, unread).result()


def begin_settings(settings: BaseModel, template: Template, saved: Mapping[str, Any]) -> Unread | None:
    """Have `settings`, a copy of what the factory made, begin a turn with those `saved`; returns these, for later."""
    if not saved and not template.pristine:
        return None
    unread = Unread(settings, template, saved, None)
    for name in (*template.pristine, *saved):
        vars(settings).pop(name, None)
    unread.read(settings)
    return unread


def found_settings(settings: BaseModel, template: Template, unread: Unread | None) -> Saved:
    """Return the settings that differ from what the factory made, as JSON; raises `AttributeNotSavedError`."""
    own = vars(settings)
    if unread is None and own.keys() == template.held and not _moved(own, template.fixed):
        return {}
    return _Search(settings, template, unread).result()


def _moved(own: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    # Without a loop of Python's own, because each turn looks at all attributes of its agent.
    return any(map(is_not, map(own.get, before), before.values()))


class _Search:
    """Compares each attribute of an object with what it was before the turn."""

    def __init__(self, owner: Any, template: Template, unread: Unread | None) -> None:
        self._owner = owner
        self._template = template
        self._saved = saved = unread.saved if unread is not None else {}
        self._read = unread.values if unread is not None else None
        self._unread = unread
        self._encoder: Encoder = template.encoder(owner)
        self._result: Saved = dict(saved)

    def result(self) -> Saved:
        template, own = self._template, vars(self._owner)
        if self._unread is not None and any(name in self._unread for name in own):
            # What was put in its place may have held a part of another.
            self._unread.read(self._owner)
            self._read = self._unread.values
        for name in sorted(own):
            if name not in template.own:
                self._compare(name, own[name])
        for name in {*template.fixed, *template.pristine, *self._saved} - own.keys():
            if self._unread is None or name not in self._unread:
                self._deleted(name)
        if self._result != self._saved:
            _check_size(template, self._result)
        return self._result

    def _compare(self, name: str, value: Any) -> None:
        template = self._template
        if name in template.fixed and value is template.fixed[name]:
            self._result.pop(name, None)
            return
        if self._read is not None and type(value) in _SCALARS and name in self._read and value is self._read[name]:
            return
        try:
            kept = self._encoder.attribute(name, value)
        except NotDataError as error:
            if isinstance(getattr(template.kind, name, None), cached_property):
                return  # it is made again when it is asked for
            raise self._refused(name, error.place, error.value, error.reason) from None
        if _same(kept, template.before(name)):
            self._result.pop(name, None)
        elif not (name in self._saved and _same(kept, self._saved[name])):
            self._changed(name, kept)

    def _changed(self, name: str, kept: Any) -> None:
        if name in self._template.shared:
            other = self._template.shared[name]
            raise AttributeNotSavedError(
                f"{self._template.kind.__name__}.{name} was changed in this turn, and {other} holds the same object; a "
                "served run keeps the attributes of each agent and task by itself, so the other would not see the "
                "change; hold it in one place, and hand on what the other has to know in messages or in a database"
            )
        self._result[name] = kept

    def _deleted(self, name: str) -> None:
        if self._template.has(name):
            self._result[name] = DELETED
        else:
            self._result.pop(name, None)

    def _refused(self, name: str, place: str, value: Any, reason: str) -> AttributeNotSavedError:
        known = self._template.has(name) or name in self._saved
        return AttributeNotSavedError(
            f"{self._template.kind.__name__}.{place} holds a {_named(type(value))}, and {name!r} was "
            f"{'changed' if known else 'set'} in this turn; a served run keeps of attributes {_KEPT_KINDS}"
            f"{f' ({reason})' if reason else ''}; {_ADVICE}"
        )


def _named(kind: type[Any]) -> str:
    """The class as an error tells it."""
    module = kind.__module__
    if module.startswith("turnwise."):
        module = "turnwise"
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _same(one: Any, other: Any) -> bool:
    # Equal is not enough: 1 equals true, and the order of a dict is no part of it.
    return bool(one == other) and dumps(one) == dumps(other)


def _check_size(template: Template, result: Saved) -> None:
    sizes = {name: len(dumps(kept)) for name, kept in result.items()}
    if sum(sizes.values()) <= MAX_ATTRIBUTES:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    raise AttributeNotSavedError(
        f"the attributes of {template.kind.__name__} have grown to {sum(sizes.values()):,} bytes, and a served run "
        f"keeps {MAX_ATTRIBUTES:,} of an agent or task between turns; the largest is {largest!r} with "
        f"{sizes[largest]:,}; keep it in a file or a database, and its name in the attribute"
    )


def _check_surroundings(template: Template) -> None:
    """Raise `AttributeNotSavedError` if what all turns of the process share was changed, after undoing it."""
    made = vars(template.made)
    if made.keys() != template.names or _moved(made, template.values):
        values = template.values
        changed = [name for name in values if name not in made or made[name] is not values[name]]
        for name in made.keys() - template.names:
            changed.append(name)
            del made[name]
        made.update(values)
        if changed:  # else one of Turnwise's own is gone
            raise AttributeNotSavedError(
                f"{template.kind.__name__}.{changed[0]} was changed on the object that the factory made, which all "
                "runs of a process share; code that holds it, such as a lambda or a function within the factory, has "
                "to take the agent that it is given, as a handler's `self` is"
            )
    if changed_containers := [shared for shared in template.containers if not shared.is_unchanged()]:
        for shared in changed_containers:
            shared.put_back()
        shared = changed_containers[0]
        raise AttributeNotSavedError(
            f"{template.kind.__name__}.{shared.name} was changed in this turn, but all runs of a process share it, "
            f"because its class, {type(shared.value).__name__}, may hold more than its items; make it a plain list, "
            "dict or set, keep it in `State`, or name it in `unsaved` if sharing is meant"
        )
    for held in template.class_values:
        if held.is_unchanged():
            continue
        held.put_back()
        place = f"{held.kind.__name__}.{held.name}"
        raise AttributeNotSavedError(
            f"{place} was changed in this turn, but it belongs to the class: all agents and all runs of a process "
            "share it, and other processes do not see it; make it an attribute of each agent in __init__"
        )
