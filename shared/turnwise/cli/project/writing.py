"""Writing a new project: all of it, or nothing."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from turnwise.cli.project.name import ProjectName, check_hides_nothing
from turnwise.cli.project.template import project_files
from turnwise.errors import ProjectError


def write_project(name: ProjectName, within: Path) -> list[str]:
    """Make the project's folder in the folder `within`, and return the paths of its files in it.

    The files are written into a folder beside it, which is then renamed: so there is never half of a project. Raises
    `ProjectError` if something of that name exists, if its package would hide another, or if nothing can be written.
    """
    target = within / name.project
    if target.exists() or target.is_symlink():
        raise ProjectError(f"{target} exists; nothing was written. Take another name, or move it away")
    # Only now: a folder of that name may itself look like a package.
    check_hides_nothing(name)
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{name.project}-", dir=within))
    except OSError as error:
        raise ProjectError(f"no folder can be made in {within}: {error.strerror}; nothing was written") from error
    try:
        written = _write_files(name, made)
        made.chmod(0o777 & ~_umask())
        made.rename(target)
    except OSError as error:
        raise ProjectError(f"{target} cannot be written: {error.strerror}; nothing is left of it") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return written


def _write_files(name: ProjectName, folder: Path) -> list[str]:
    written = []
    for path, text in project_files(name):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _umask() -> int:
    """Return which rights new folders lack; a temporary folder has only its owner's."""
    import os

    mask = os.umask(0o077)
    os.umask(mask)
    return mask
