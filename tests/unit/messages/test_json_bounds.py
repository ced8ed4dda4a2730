"""The check of JSON that enters: the same for plain values, of which every turn has many, as for any others."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from enum import IntEnum
from typing import Any

import pytest

from turnwise.base import json_bounds
from turnwise.base.json_bounds import MAX_NUMBER, MAX_VALUES, fault_in


class Text(str):
    """Text of a type of its own."""


class Level(IntEnum):
    """A number of a type of its own."""

    LOW = 1


class _NeverAsked(type):
    def __instancecheck__(cls, instance: object) -> bool:
        raise AssertionError(f"{instance!r} was checked against an abstract class")


class Slow(metaclass=_NeverAsked):
    """Stands for an abstract class, whose check takes long."""


def test_plain_values_are_checked_against_no_abstract_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bounds, "Mapping", Slow)
    value: Any = {"a": [1, 2.5, True, None, "text", "Größe", {"b": {}}], "Ö": [], "c": ""}
    assert fault_in(value) is None
    assert "finite" in str(fault_in({"a": [float("inf")]}))
    with pytest.raises(AssertionError, match="abstract"):
        fault_in(UserDict())


@pytest.mark.parametrize(
    "value",
    [
        "text",
        "Größe",
        1,
        -2.5,
        True,
        None,
        [],
        (1, "a"),
        {1: "a"},
        OrderedDict(a=1),
        UserDict(a="b"),
        Text("Ö"),
        Level.LOW,
    ],
)
def test_what_can_be_taken(value: Any) -> None:
    assert fault_in(value) is None
    assert fault_in([{"a": (value,)}]) is None


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("\ud800", "half of a surrogate pair is no text"),
        (Text("\ud800"), "half of a surrogate pair is no text"),
        ({"\ud800": 1}, "a name in it is half of a surrogate pair"),
        (UserDict({"\ud800": 1}), "a name in it is half of a surrogate pair"),
        ({Text("\ud800"): 1}, "a name in it is half of a surrogate pair"),
        (float("nan"), "not JSON"),
        (MAX_NUMBER, "more than 308 digits"),
        (-MAX_NUMBER, "more than 308 digits"),
        ([None] * (MAX_VALUES + 1), "more than"),
        ((True,) * (MAX_VALUES + 1), "more than"),
    ],
)
def test_what_can_not(value: Any, fault: str) -> None:
    assert fault in str(fault_in(value))
    assert fault in str(fault_in([{"a": (value,)}]))
