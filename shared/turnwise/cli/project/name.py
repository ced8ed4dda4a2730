"""The name of a new project, and of its package."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import metadata
from importlib.resources import files
from importlib.util import find_spec

from turnwise.errors import ProjectError

_LONGEST = 32
_FORM = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
# Folders that a project has beside its package.
_FOLDERS = {"tests", "wheels"}
# The tools that a project is built and checked with.
_TOOLS = {"hatchling", "mypy", "pytest", "ruff"}
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class ProjectName:
    """A project's name such as `order-desk`, which is also its folder's; its package is `order_desk`."""

    project: str

    @property
    def package(self) -> str:
        """The name to import."""
        return self.project.replace("-", "_")


def checked_name(text: str) -> ProjectName:
    """Return the name; raises `ProjectError` if a project or its package cannot have it."""
    if len(text) > _LONGEST or not _FORM.fullmatch(text):
        raise ProjectError(
            f"{text!r} cannot be the name of a project; expected up to {_LONGEST} lower-case letters, digits and "
            "single hyphens, the first a letter, for instance order-desk"
        )
    name = ProjectName(text)
    if keyword.iskeyword(name.package):
        raise ProjectError(f"{text!r} is a word of Python, so no package can have that name; take another one")
    if name.package in _FOLDERS:
        raise ProjectError(f"{text!r} is the name of a folder that each project has; take another one")
    if _is_ignored(name.package):
        raise ProjectError(f"{text!r} is the name of a folder that a project's .gitignore leaves out; take another one")
    return name


def _is_ignored(package: str) -> bool:
    """Return whether the `.gitignore` that is written into each project leaves out a folder of that name."""
    written = (files("turnwise.cli.project") / "template" / "gitignore.tmpl").read_text(encoding="utf-8")
    return any(fnmatchcase(package, line.rstrip("/")) for line in written.splitlines())


def check_hides_nothing(name: ProjectName) -> None:
    """Raise `ProjectError` if the package would hide one that a program may want to import."""
    if hidden := _hidden_by(name):
        raise ProjectError(
            f"a package {name.package!r} would hide {hidden}; take another name, such as my-{name.project}"
        )


def _hidden_by(name: ProjectName) -> str | None:
    """Return what the package would hide, in words."""
    if name.package in sys.stdlib_module_names or name.package in sys.builtin_module_names:
        return "Python's own module of that name"
    if find_spec(name.package) is not None:
        return "the package of that name which is installed here"
    if _normal(name.project) in _requirements() | _TOOLS:
        return "a package that Turnwise, or the project itself, uses"
    return None


def _requirements() -> set[str]:
    """Return the names of the packages that Turnwise needs, with all its extras: any may be installed later."""
    found = (_REQUIREMENT.match(line) for line in metadata.requires("turnwise") or ())
    return {_normal(match[0]) for match in found if match}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
