"""Shallow copies in few calls: only of classes that `copy.copy` would copy in the same way."""

from copy import copy
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from turnwise.base.copies import bare_copy, copied_model, copies_plainly


class Plain:
    def __init__(self) -> None:
        self.items = [1]


class WithState(Plain):
    def __getstate__(self) -> dict[str, Any]:
        return {}


class WithSlots(Plain):
    __slots__ = ("more",)


class WithNew(Plain):
    def __new__(cls) -> "WithNew":
        return super().__new__(cls)


class WithCopy(Plain):
    def __copy__(self) -> "WithCopy":
        return self


class WithReduce(Plain):
    def __reduce__(self) -> Any:
        return WithReduce, ()


class Row(BaseModel):
    model_config = ConfigDict(extra="allow")
    names: list[str] = []
    _seen: int = PrivateAttr(default=0)


class Bare(BaseModel):
    name: str = ""


class Shared(Bare):
    def __copy__(self) -> "Shared":
        return self


def test_a_plain_object_is_copied_with_the_same_values() -> None:
    value = Plain()

    other = bare_copy(value)

    assert copies_plainly(Plain)
    assert type(other) is Plain
    assert other is not value
    assert other.items is value.items
    other.items = []
    assert value.items == [1]


@pytest.mark.parametrize("kind", [WithState, WithSlots, WithNew, WithCopy, WithReduce, dict])
def test_a_class_that_has_a_say_in_its_copies_is_not_plain(kind: type[Any]) -> None:
    assert not copies_plainly(kind)


@pytest.mark.parametrize("model", [Bare(name="a"), Row(names=["a"]), Row.model_validate({"names": ["a"], "b": 1})])
def test_a_model_is_copied_as_pydantic_does_it(model: BaseModel) -> None:
    expected = copy(model)

    made = copied_model(model)

    assert made == expected
    assert made is not model
    assert made.model_fields_set == expected.model_fields_set
    assert made.model_extra == expected.model_extra
    assert made.__dict__ is not model.__dict__


def test_a_field_of_a_copied_model_is_its_own() -> None:
    model = Bare(name="a")

    copied_model(model).name = "b"

    assert model.name == "a"


def test_a_model_that_brings_its_own_copy_is_asked_for_it() -> None:
    model = Shared()

    assert copied_model(model) is model
