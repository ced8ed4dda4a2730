"""The files of a new project: plain files with `%%name` where a name belongs."""

from __future__ import annotations

import string
from collections.abc import Iterator
from importlib.resources import files

from turnwise import __version__
from turnwise.cli.project.name import ProjectName

# The path in the project, and the template that it is made of.
_FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "Dockerfile": "Dockerfile",
    "docker-compose.yml": "docker-compose.yml",
    ".dockerignore": "dockerignore",
    ".gitignore": "gitignore",
    ".github/workflows/check.yml": "check.yml",
    "{package}/__init__.py": "init.py",
    "{package}/__main__.py": "main.py",
    "{package}/app.py": "app.py",
    "{package}/tools.py": "tools.py",
    "{package}/settings.py": "settings.py",
    "{package}/scripted.py": "scripted.py",
    "tests/conftest.py": "conftest.py",
    "tests/test_answer.py": "test_answer.py",
}
# Those of this repository; a test compares them.
IMAGES = {
    "python_image": "python:3.11.14-slim-bookworm",
    "postgres_image": "postgres:17.6-bookworm",
    "rabbitmq_image": "rabbitmq:4.1.4-management-alpine",
}


class _Template(string.Template):
    # Shells, compose files and decorators have a meaning for most other signs.
    delimiter = "%%"


def project_files(name: ProjectName) -> Iterator[tuple[str, str]]:
    """Yield each file's path in the project, and its text."""
    names = {
        "project": name.project,
        "package": name.package,
        "prefix": name.package.upper(),
        "version": __version__,
        **IMAGES,
    }
    folder = files("turnwise.cli.project") / "template"
    for path, template in _FILES.items():
        text = (folder / f"{template}.tmpl").read_text(encoding="utf-8")
        yield path.format(package=name.package), _Template(text).substitute(names)
