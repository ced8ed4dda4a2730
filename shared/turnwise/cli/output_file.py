"""The file that a command writes its output to: checked before the work begins, and there as a whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from turnwise.errors import ConfigurationError


def check_output(output: Path | None) -> None:
    """Raise `ConfigurationError` if nothing can be written there; None is standard output."""
    if output is None:
        return
    target = _target(output)
    if target.is_dir():
        raise ConfigurationError(f"--output is {str(output)!r}, a folder; name a file in it")
    if not target.parent.is_dir():
        raise ConfigurationError(
            f"--output is {str(output)!r}, but there is no folder {str(target.parent)!r}; make it, or name another file"
        )
    if not os.access(target if _is_written_in_place(target) else target.parent, os.W_OK):
        raise ConfigurationError(f"--output is {str(output)!r}, which may not be written; name another file")


@contextmanager
def written(output: Path | None) -> Iterator[TextIO]:
    """Yield what is written to; raises `ConfigurationError` if the file cannot be written."""
    if output is None:
        yield sys.stdout
        return
    check_output(output)
    target = _target(output)
    in_place = _is_written_in_place(target)
    part = target if in_place else target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        if not in_place:
            part.replace(target)
    except OSError as error:
        raise ConfigurationError(
            f"--output is {str(output)!r}, which cannot be written: {error.strerror}; name another file"
        ) from error
    finally:
        if not in_place:
            part.unlink(missing_ok=True)


def _target(output: Path) -> Path:
    """The file that a link leads to: the link stays, and the file behind it is replaced.

    What is no file, such as a pipe that is called `/dev/stdout`, may have no name but the link.
    """
    target = Path(os.path.realpath(output))
    return output if output.exists() and not target.exists() else target


def _is_written_in_place(target: Path) -> bool:
    """Return whether it cannot be replaced: a device or a pipe, or a file in a folder that takes no other."""
    return target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK))
