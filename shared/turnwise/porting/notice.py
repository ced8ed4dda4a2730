"""The warning about names and settings that are accepted, but change nothing."""

from __future__ import annotations

import sys
import warnings

# Frames between a program and the warning: what resolves a name, or makes and checks an object.
_BETWEEN = ("turnwise.", "pydantic.", "importlib.", "_frozen_importlib", "contextlib")

_told: set[str] = set()


class NoEffectWarning(UserWarning):
    """A program uses a name or a setting of Langroid that has no effect here; told once for each name."""


def tell(name: str, sentence: str) -> None:
    """Warn, once in a process for each name, at the line of the program that uses it."""
    if name in _told:
        return
    _told.add(name)
    warnings.warn(f"{name} has no effect in Turnwise: {sentence}", NoEffectWarning, stacklevel=_level())


def _level() -> int:
    """The `stacklevel` of the first frame of the program, counted from the caller of this function."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__", "")):
        # `warnings.warn` does not count the frames of the import system either.
        level += not _is_import_system(frame.f_code.co_filename)
        frame = frame.f_back
    return level


def _is_between(module: str) -> bool:
    return f"{module}.".startswith(_BETWEEN)


def _is_import_system(filename: str) -> bool:
    return "importlib" in filename and "_bootstrap" in filename
