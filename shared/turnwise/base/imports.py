"""Imports of libraries that load more than is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(name: str) -> Iterator[None]:
    """Let what is imported in the block find that there is no module `name`; one that is loaded already stays.

    For a library that imports another one only to be nicer with it.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so an import of it fails
    try:
        yield
    finally:
        del sys.modules[name]
