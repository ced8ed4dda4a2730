"""Classes and functions by name: where other processes find them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable
from functools import lru_cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any


def place_of(kind: Any) -> str:
    """Return `module:qualified.name` of a class or function."""
    return f"{kind.__module__}:{kind.__qualname__}"


def found_at(place: str, packages: Collection[str] = ()) -> Any:
    """Return the class or function that is defined at `module:qualified.name`; raises `LookupError` if there is none.

    A stored place may be forged. So a module that no one has imported is imported only if it is in one of `packages`,
    and an object, a function written in C, or one that is merely imported there is not found.
    A class may be imported there: it has moved.
    """
    module, _, name = place.partition(":")
    found: Any = _module(module, packages)
    for part in name.split("."):
        # Not `getattr`, which may call code.
        found = _member(found, part, place)
    if not isinstance(found, type | FunctionType):
        raise LookupError(f"{place!r} is a {type(found).__name__}; expected a class or a function")
    if isinstance(found, FunctionType) and place_of(found) != place:
        raise LookupError(f"{place!r} is defined elsewhere, at {place_of(found)!r}")
    return found


def _module(name: str, packages: Collection[str]) -> ModuleType:
    """Return the module; raises `LookupError` if it is not loaded and in none of `packages`, or cannot be imported."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    if name.partition(".")[0] not in packages or name.endswith("__main__"):
        raise LookupError(f"the module {name!r} is not loaded here; import it at the top of the module of the agent")
    try:
        return import_module(name)
    except ImportError as error:
        raise LookupError(f"the module {name!r} cannot be imported here ({error})") from error


def _member(holder: Any, name: str, place: str) -> Any:
    kinds = holder.__mro__ if isinstance(holder, type) else (holder,)
    for kind in kinds:
        if name in vars(kind):
            found = vars(kind)[name]
            return found.__func__ if isinstance(found, staticmethod | classmethod) else found
    raise LookupError(f"{place!r} cannot be found here (there is no {name!r})")


def packages_of(*kinds: type[Any]) -> set[str]:
    """Return the packages, by their top-level names, in which the classes and their bases are defined."""
    return {base.__module__.partition(".")[0] for kind in kinds for base in kind.__mro__}


def is_found(kind: Any) -> bool:
    """Return whether other processes find this very class or function by its place."""
    return _is_found(kind)


@lru_cache(maxsize=1024)
def _is_found(kind: Hashable) -> bool:
    try:
        return found_at(place_of(kind)) is kind
    except LookupError:
        return False
