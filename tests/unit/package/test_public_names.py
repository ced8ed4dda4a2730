"""The names of `turnwise` at its top level."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import Any

import pytest
from pydantic import BaseModel

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


def test_every_error_is_in_the_tree_and_has_a_code_of_its_own() -> None:
    from turnwise import errors

    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    drawn = _drawn_tree(errors.__doc__ or "")
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds if kind is not turnwise.TurnwiseError}
    codes = [kind.code for kind in kinds if issubclass(kind, turnwise.TurnwiseError)]
    assert len(codes) == len(kinds)
    assert len(set(codes)) == len(codes)


def _drawn_tree(text: str) -> dict[str, str]:
    """The parent of each class that the drawing in a docstring has, but for the root."""
    parents: dict[str, str] = {}
    above = ["TurnwiseError"]
    for line in text.splitlines():
        branch, drawn, rest = line.partition("── ")
        if drawn:
            depth = len(branch) // 4 + 1  # each level is four characters wide
            name = rest.split()[0]
            parents[name] = above[depth - 1]
            above[depth:] = [name]
    return parents


# --- docstrings ------------------------------------------------------------------------------------------------------


def reference() -> dict[str, Any]:
    """The classes and functions that the reference shows."""
    from turnwise.client import Client

    return {**{name: getattr(turnwise, name) for name in set(turnwise.__all__) - VALUES}, "Client": Client}


def documented() -> dict[str, str]:
    """Docstrings by name: those of the classes and functions of the reference, and of their own public members."""
    found = {}
    for name, thing in reference().items():
        found[name] = inspect.getdoc(thing) or ""
        if inspect.isclass(thing) and not issubclass(thing, Enum):
            for kind in thing.__mro__:
                if kind.__module__.startswith("turnwise"):
                    found.update({f"{kind.__name__}.{member}": text for member, text in members(kind)})
    return found


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Public methods and properties with their docstrings; "" for one that has none of its own, nor inherits one."""
    for name, member in vars(kind).items():
        if name.startswith(("_", "model_")):
            continue
        if inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod, property, cached_property)):
            yield name, inspect.getdoc(member) or inspect.getdoc(getattr(kind, name)) or ""


def words(text: str) -> set[str]:
    """Words of a text or a name, plural or not, without those that say nothing."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ").lower()
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", apart)} - SAYING_NOTHING


SAYING_NOTHING = {
    "a",
    "an",
    "and",
    "by",
    "for",
    "from",
    "get",
    "i",
    "in",
    "it",
    "of",
    "on",
    "or",
    "set",
    "that",
    "the",
    "thi",
    "to",
}


def faults(name: str, text: str) -> list[str]:
    """Return the faults of a docstring; empty for a good one."""
    first = text.split("\n\n")[0].strip()
    found = []
    if not text:
        return [f"{name} has no docstring"]
    if "\n" in first or not first.endswith((".", ":")) or not first[0].isupper():
        found.append(f"{name}: the first line is no sentence of its own: {first!r}")
    if len(words(first) - words(name.split(".")[-1])) < 2:
        found.append(f"{name}: says no more than its name: {first!r}")
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Task.kill", ""),
        ("Task.kill", "Kills the task"),
        ("Task.sub_task_entries", "The sub-task entries."),
        ("Task.run", "Run it until\nit is done."),
        ("Task.run", "runs until the conversation is over."),
    ],
)
def test_a_poor_docstring_is_found(name: str, text: str) -> None:
    assert faults(name, text)


def test_every_docstring_begins_with_a_sentence_that_says_more_than_the_name() -> None:
    assert [fault for name, text in documented().items() for fault in faults(name, text)] == []


def test_every_field_of_a_model_is_explained_where_its_class_is() -> None:
    missing = []
    for name, thing in reference().items():
        if inspect.isclass(thing) and issubclass(thing, BaseModel):
            text = " ".join(kind.__doc__ or "" for kind in thing.__mro__ if kind.__module__.startswith("turnwise"))
            mentioned = set(re.findall(r"`(\w+)[`=(]", text))
            missing += [f"{name}.{field}" for field in thing.model_fields if field not in mentioned]
    assert missing == []


def test_every_value_of_an_enumeration_is_explained_or_speaks_for_itself() -> None:
    for kind in (turnwise.StatusCode, turnwise.EventType, turnwise.NonToolAction):
        assert [member for member in kind.__members__ if f"`{member}`" not in (kind.__doc__ or "")] == []
