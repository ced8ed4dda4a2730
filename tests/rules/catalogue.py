"""Every scenario there is."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from tests.rules import cases
from tests.rules.scenario import Scenario


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, file by file, in the order in which they are written; raises `ValueError` for a doubled id."""
    found: dict[str, Scenario] = {}
    for module in sorted(pkgutil.iter_modules(cases.__path__), key=lambda item: item.name):
        loaded = importlib.import_module(f"{cases.__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, Scenario):
                if value.id in found:
                    raise ValueError(f"two scenarios are called {value.id!r}; rename one")
                found[value.id] = value
    return tuple(found.values())
