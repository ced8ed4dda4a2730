"""The one step of porting: the word `langroid` in imports becomes `turnwise.langroid`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

_IMPORT = re.compile(r"^(\s*)(from|import)(\s+)langroid\b", re.MULTILINE)


def ported(source: str) -> str:
    """The program after the step; nothing but the word in its imports changes."""
    return _IMPORT.sub(r"\1\2\3turnwise.langroid", source)


def copy_examples(examples: Path, to: Path, *, port: bool) -> None:
    """Copy the examples to `to/examples`, as they are or ported."""
    target = to / "examples"
    shutil.copytree(examples, target, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb"))
    if port:
        for file in target.rglob("*.py"):
            file.write_text(ported(file.read_text("utf-8")), "utf-8")
