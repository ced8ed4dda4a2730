"""Look-up of single names in the table of `turnwise.porting.table`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import turnwise
from turnwise.porting.table import MODULES, SETTINGS
from turnwise.porting.values import REST, Absent, Accepted

__all__ = ["SETTINGS", "NameEntry", "children", "entries", "find", "native_name"]


@dataclass(frozen=True, slots=True)
class NameEntry:
    """A module or name of `langroid`, and what stands for it.

    - `path`: its path without `langroid.`, "" for `langroid` itself.
    - `kind`: "module"; "ours" for a name that works; "accepted" for one without effect; "absent".
    - `target`: "module:attribute" of what stands for it, "" for modules and absent names.
    - `native`: its name without `turnwise.langroid`, such as `turnwise.Task` or `pydantic.BaseModel`; "" for none.
    - `sentence`: for accepted and absent names, why it has no effect, or what to use instead.
    """

    path: str
    kind: Literal["module", "ours", "accepted", "absent"]
    target: str = ""
    native: str = ""
    sentence: str = ""


def find(path: str) -> NameEntry | None:
    """Return the entry of a module or name, such as "agent.task.Task"; None for one that the table does not know."""
    names = MODULES.get(path)
    if names is not None:
        rest = names.get(REST)
        if isinstance(rest, Absent) and len(names) == 1 and not children(path):
            return NameEntry(path, "absent", sentence=rest.sentence)
        return NameEntry(path, "module")
    module, _, name = path.rpartition(".")
    if module not in MODULES:
        return _below_absent(module, path)
    value = MODULES[module].get(name) or MODULES[module].get(REST)
    if value is None:
        return None
    if isinstance(value, Absent):
        return NameEntry(path, "absent", sentence=value.sentence)
    if isinstance(value, Accepted):
        return NameEntry(path, "accepted", value.target, sentence=value.sentence)
    return NameEntry(path, "ours", value, native_name(value))


def _below_absent(module: str, path: str) -> NameEntry | None:
    """The entry of an attribute of a name, such as a class's member."""
    above = find(module) if module else None
    return NameEntry(path, "absent", sentence=above.sentence) if above is not None and above.kind == "absent" else None


def native_name(target: str) -> str:
    """Return the dotted name of a target that needs no `turnwise.langroid`, "" if it has none."""
    module, _, name = target.partition(":")
    if name in turnwise.__all__ or module == "turnwise":
        return f"turnwise.{name}"
    return "" if module.startswith("turnwise.porting") else f"{module}.{name}"


def children(module: str) -> list[str]:
    """Return the names of the modules directly below a module."""
    before = f"{module}." if module else ""
    below = (path.removeprefix(before) for path in MODULES if path and path.startswith(before))
    return sorted(name for name in below if "." not in name)


def entries() -> Iterator[NameEntry]:
    """Yield the entry of each module and name of the table."""
    for module, names in MODULES.items():
        paths = [module, *(f"{module}.{name}".lstrip(".") for name in names if name != REST)]
        yield from (entry for path in paths if (entry := find(path)) is not None)
