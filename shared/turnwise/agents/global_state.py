"""Values that a program shares between its agents by a class."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from turnwise.base.call_context import CallPart, current_call, under
from turnwise.errors import AttributeNotSavedError


class GlobalState(BaseModel):
    """Base of classes with values that all of a program's agents share: one instance of each class in a process.

    A script reads and sets them with `get_value` and `set_values`. A served run is answered by many processes, which
    share nothing but its record. There, what a program set when it was loaded can be read; each answer sees a copy of
    its own, and one that changes it ends the run with `AttributeNotSavedError`. Keep what has to last in the `State`
    or the attributes of an agent, or hand it on in messages.
    """

    _instances: ClassVar[dict[type[GlobalState], GlobalState]] = {}

    @classmethod
    def get_instance(cls) -> Self:
        """Return the one instance of the class, made with the defaults of its fields when it is first asked for."""
        kept = current_call()[KEPT]
        instance = cls._of_process() if kept is None else kept.instance(cls)
        assert isinstance(instance, cls)
        return instance

    @classmethod
    def set_values(cls, **values: Any) -> None:
        """Set fields of the instance; raises `ValueError` for a name that is no field."""
        instance = cls.get_instance()
        for name, value in values.items():
            setattr(instance, name, value)

    @classmethod
    def get_value(cls, name: str) -> Any:
        """Return a field of the instance; raises `AttributeError` for a name that is no field."""
        return getattr(cls.get_instance(), name)

    @classmethod
    def _of_process(cls) -> GlobalState:
        # `setdefault`, because two threads may ask first at the same time.
        return GlobalState._instances.get(cls) or GlobalState._instances.setdefault(cls, cls())


class GlobalStateKept:
    """Gives each class a copy of its instance within the block; nothing is copied before someone asks for it."""

    def __init__(self) -> None:
        self._copies: dict[type[GlobalState], tuple[dict[str, Any], GlobalState]] = {}

    def __enter__(self) -> Self:
        self._bound = under(KEPT, self)
        self._bound.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        bound = self._bound
        del self._bound  # it holds this object, and would keep both for the garbage collector
        bound.__exit__()

    def instance(self, kind: type[GlobalState]) -> GlobalState:
        """Return the copy of the class's instance."""
        if kind not in self._copies:
            values = dict(kind._of_process().__dict__)
            mine = kind.model_construct(**_copied(values))
            self._copies[kind] = (_copied(values), mine)
        return self._copies[kind][1]

    def check(self) -> None:
        """Raise `AttributeNotSavedError` if one of the copies was changed."""
        for kind, (before, now) in self._copies.items():
            changed = sorted(name for name, value in now.__dict__.items() if _differ(before.get(name), value, set()))
            if changed:
                raise AttributeNotSavedError(
                    f"{kind.__name__}.{', '.join(changed)} was changed in a served run, which keeps no GlobalState, as "
                    "many processes give its answers; keep the value in the `State` or an attribute of an agent, or "
                    "hand it on in messages"
                )


KEPT = CallPart[GlobalStateKept | None](None)


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    """A deep copy of data; what is no data, such as a task or a connection in a list, is shared by all answers."""
    memo: dict[int, Any] = {}
    return {name: _copy(value, memo) for name, value in values.items()}


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, tuple):
        items = [_copy(item, memo) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, set | bytearray):
        return memo.setdefault(id(value), copy.copy(value))
    if isinstance(value, list | deque | dict):
        made = memo[id(value)] = copy.copy(value)
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            made[key] = _copy(item, memo)
        return made
    if isinstance(value, BaseModel):
        model = memo[id(value)] = value.model_copy()
        model.__dict__.update({name: _copy(item, memo) for name, item in value.__dict__.items()})
        return model
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data = memo[id(value)] = copy.copy(value)
        for field in dataclasses.fields(value):
            if hasattr(value, field.name):
                object.__setattr__(data, field.name, _copy(getattr(value, field.name), memo))
        return data
    return value


def _differ(before: Any, now: Any, seen: set[int]) -> bool:
    """Return whether a value was changed; item by item, because a copy shares what is no data."""
    if before is now or id(before) in seen:
        return False
    if type(before) is not type(now):
        return True
    seen.add(id(before))
    if isinstance(before, dict):
        return before.keys() != now.keys() or any(_differ(before[key], now[key], seen) for key in before)
    if isinstance(before, list | tuple | deque):
        return len(before) != len(now) or any(map(lambda one, other: _differ(one, other, seen), before, now))
    if isinstance(before, BaseModel):
        return _differ(before.__dict__, now.__dict__, seen)
    if dataclasses.is_dataclass(before):
        names = [field.name for field in dataclasses.fields(before)]
        return any(_differ(getattr(before, name, None), getattr(now, name, None), seen) for name in names)
    try:
        return bool(before != now)
    except (TypeError, ValueError):  # arrays and tables compare to no truth
        return True
