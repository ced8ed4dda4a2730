"""Files to port: named ones, and the programs in folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnwise.errors import PortingError
from turnwise.porting.codemod.report import Level, PortingFinding

# The distribution `langroid`, with or without extras and a version, not a longer name such as `langroid-tools`.
_REQUIREMENT = re.compile(r"""(?:^|["'\s\[,-])langroid(?:\[[^\]]*\])?(?=$|[\s"',;=<>~!@])""")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def requirement_findings(text: str) -> Iterator[PortingFinding]:
    """Yield a finding for each line of a list of requirements that asks for the reference implementation."""
    for number, line in enumerate(text.splitlines(), 1):
        if _REQUIREMENT.search(_COMMENT.sub("", line)):
            yield PortingFinding(line=number, level=Level.TODO, said="requires langroid: require turnwise instead")


def notebook_findings(text: str) -> Iterator[PortingFinding]:
    """Yield a finding for a notebook that names the reference implementation."""
    if re.search(r"\blangroid\b", text):
        said = "a notebook is left as it is: export it (jupyter nbconvert --to script), and port the program"
        yield PortingFinding(line=0, level=Level.TODO, said=said)


# Folders with programs of other people, or with files that are made.
_SKIPPED = {"node_modules", "site-packages", "__pycache__", "__pypackages__"}
_REQUIREMENTS = {"pyproject.toml", "setup.cfg", "Pipfile", "environment.yml", "environment.yaml"}


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are named and those in named folders, in order, each once.

    Of a folder come programs (`.py`), notebooks, and files of requirements, at any depth. Hidden folders, virtual
    environments, `node_modules` and links to folders are skipped. Raises `PortingError` for a path that does not exist,
    or a folder that cannot be read.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise PortingError(f"{path} does not exist; expected a Python file or a folder")
        for each in _walk(path) if path.is_dir() else [path]:
            found.setdefault(each.resolve(), each)
    return list(found.values())


def is_requirements(path: Path) -> bool:
    """Tell whether a file lists what a program needs to have installed."""
    name = path.name
    return name in _REQUIREMENTS or (path.suffix in {".txt", ".in"} and "requirements" in name)


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_refuse):
        here = Path(root)
        folders[:] = sorted(name for name in folders if not _skipped(here / name))
        for name in sorted(files):
            path = here / name
            if path.suffix in {".py", ".ipynb"} or is_requirements(path):
                yield path


def _skipped(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _SKIPPED
    return hidden or (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").is_dir()


def _refuse(error: OSError) -> None:
    raise PortingError(f"{error.filename} cannot be read: {error.strerror}") from error
