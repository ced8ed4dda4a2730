"""The values of the table of names; see `turnwise.porting.table`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accepted:
    """A name that programs may use, without effect here: `target` stands in for it, `sentence` says why."""

    target: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Absent:
    """A name that does not exist here; `sentence` says what to use instead."""

    sentence: str


# "module:attribute" of what stands for a name here, or one of the others.
Value = str | Accepted | Absent
# The names of one module. `REST` is for all the names that are not listed; alone, for the module itself.
Names = dict[str, Value]
REST = "*"


def top(names: str) -> Names:
    """Names that `turnwise` has at its top level, under the same names."""
    return {name: f"turnwise:{name}" for name in names.split()}


def at(module: str, names: str) -> Names:
    """Names that `module` has under the same names."""
    return {name: f"{module}:{name}" for name in names.split()}


def absent(names: str, sentence: str) -> Names:
    """Names that do not exist here, with one sentence for all of them."""
    return dict.fromkeys(names.split(), Absent(sentence))


def inert(names: str, sentence: str) -> Names:
    """Names that have no effect here, with one sentence for all of them."""
    return {name: Accepted(f"turnwise.porting.inert:{name}", sentence) for name in names.split()}
