"""The names of the modules of `turnwise.langroid`, each resolved at its first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from turnwise.errors import AbsentAttributeError, AbsentNameError
from turnwise.porting.entries import NameEntry, children, find
from turnwise.porting.notice import tell
from turnwise.porting.table import MODULES
from turnwise.porting.values import REST

PACKAGE = "turnwise.langroid"


def lend(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module, which load what the table names."""
    above = _path(module)

    def __getattr__(name: str) -> Any:
        path = f"{above}.{name}".lstrip(".")
        entry = None if name.startswith("__") and path not in ("__version__",) else find(path)
        if entry is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if entry.kind == "absent":
            raise AbsentAttributeError(_message(entry), name=name)
        value = _load(entry)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__() -> list[str]:
        own = (name for name in MODULES[above] if name != REST)
        known = {name for name in own if (entry := find(f"{above}.{name}".lstrip("."))) and entry.kind != "absent"}
        return sorted({*known, *children(above)})

    return __getattr__, __dir__


def _load(entry: NameEntry) -> Any:
    if entry.kind == "module":
        return import_module(f"{PACKAGE}.{entry.path}")
    if entry.kind == "accepted":
        tell(f"langroid.{entry.path}", entry.sentence)
    module, _, attribute = entry.target.partition(":")
    return getattr(import_module(module), attribute)


class _AbsentNames(MetaPathFinder):
    """Refuses imports of absent names with the sentence of the table.

    It is asked last. `from module import name` asks for a module of that name, too, as all modules of the package have
    a `__path__`; an exception of `__getattr__` would be lost there.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(f"{PACKAGE}."):
            entry = find(_path(fullname))
            if entry is not None and entry.kind == "absent":
                raise AbsentNameError(_message(entry), name=fullname)
        return None


def refuse_absent_names() -> None:
    """Let imports of absent names fail with what to use instead."""
    if not any(isinstance(finder, _AbsentNames) for finder in sys.meta_path):
        sys.meta_path.append(_AbsentNames())


def _path(module: str) -> str:
    return module.removeprefix(PACKAGE).lstrip(".")


def _message(entry: NameEntry) -> str:
    return f"langroid.{entry.path} does not exist in Turnwise: {entry.sentence}"
