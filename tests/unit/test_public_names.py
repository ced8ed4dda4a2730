"""What `turnwise` offers at its top level."""

from __future__ import annotations

import inspect
from enum import Enum

import pytest

import turnwise

# Plain values: what they mean is said where they are defined.
VALUES = {"AT", "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "USER_QUIT_STRINGS", "settings"}


def test_every_public_name_exists_and_nothing_else_is_offered() -> None:
    assert len(set(turnwise.__all__)) == len(turnwise.__all__)
    assert set(turnwise.__all__) <= set(dir(turnwise))
    for name in turnwise.__all__:
        assert getattr(turnwise, name) is not None
    # modules are found by importing them, and a name with an underscore is private
    offered = {
        name
        for name in dir(turnwise)
        if not name.startswith("_") and not inspect.ismodule(getattr(turnwise, name, None))
    }
    ours = {
        name for name in offered if getattr(getattr(turnwise, name), "__module__", "turnwise").startswith("turnwise")
    }
    assert ours - set(turnwise.__all__) <= {"annotations", "TYPE_CHECKING", "Any"}


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"turnwise.*no_such_name"):
        turnwise.no_such_name  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", sorted(set(turnwise.__all__) - VALUES))
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(turnwise, name)
    # its own, not one that it inherits or that was made for it
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert text, f"{name} has no docstring"
    assert not text.startswith(f"{name}("), f"{name} has only a signature"


def public_methods(kind: type) -> list[str]:
    return [
        f"{kind.__name__}.{name}"
        for name, member in vars(kind).items()
        if not name.startswith(("_", "model_"))
        and (inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod, property)))
        and not inspect.getdoc(getattr(kind, name))
    ]


@pytest.mark.parametrize("name", sorted(set(turnwise.__all__) - VALUES))
def test_every_public_method_says_what_it_does(name: str) -> None:
    thing = getattr(turnwise, name)
    if inspect.isclass(thing) and not issubclass(thing, Enum):
        assert public_methods(thing) == []


def test_every_error_is_in_the_tree_and_has_a_code_of_its_own() -> None:
    from turnwise import errors

    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    codes = [kind.code for kind in kinds if issubclass(kind, turnwise.TurnwiseError)]
    assert len(codes) == len(kinds)
    assert len(set(codes)) == len(codes)
