"""Checks the words of pages, docstrings, comments, errors and help: `python -m tests.words`, a part of `make check`.

The list is the mechanical part of the project's English. Each entry is a pattern and the words to use instead.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

WORDS = {
    r"can not": "cannot",
    r"nobody": "no one, or the passive",
    r"somebody": "someone",
    r"anybody": "anyone",
    r"any more(?= *[.;,:)\"]|$)": "no longer, before the verb",
    r"in the place of": "in place of, or instead of",
    r"(?:to|can|could|may|might) be had": "available",
    r"waits? in a circle": "deadlock",
    r"put(?:s|ting)? off": "defer",
    r"put(?:s|ting)? aside": "reserve",
    r"cut(?:s|ting)? short": "cancel",
    r"(?:goes|went|gone) on(?! its page)": "continue",
    r"behavior": "behaviour",
    r"canceled|canceling": "cancelled, cancelling",
    r"(?:recogni|organi|normali|seriali|initiali|authori)s(?:e|ed|es|ing|ation)": "the spelling with z",
    r"favou?rite": "preferred",
}
_WORDS = {re.compile(rf"(?<![-\w]){pattern}(?![-\w])", re.IGNORECASE): use for pattern, use in WORDS.items()}
_FREE_RELATIVE = re.compile(r"(?:What|Whether|Who|Whose|Whom|Whoever|Whatever)\b(?!.*\?)")
_TRAILING_VALUE = re.compile(r"(?!Return).*; (?:of )?(?:how (?:many|much)|whether)\b")
_HEADING = re.compile(r"#+ (.*)")
# Generated from names of test cases, or from recorded runs.
GENERATED = {"coverage.md", "porting-examples.md"}


class Fault(NamedTuple):
    """A place that breaks a rule, and the words to use instead."""

    path: str
    line: int
    found: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}: use {self.use}"


def in_text(path: str, line: int, text: str) -> Iterator[Fault]:
    """Find the words of the list, but not in code between backticks or in the targets of links."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    for pattern, use in _WORDS.items():
        for match in pattern.finditer(plain):
            yield Fault(path, line, match[0], use)


def in_page(path: str, text: str) -> Iterator[Fault]:
    """Find faults of a page, outside of its fenced blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        heading = _HEADING.match(line)
        if heading and _FREE_RELATIVE.match(heading[1]):
            yield Fault(path, number, line, "a noun phrase")
        yield from in_text(path, number, line)


def _shown(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings that a user reads: texts of raised errors, help of commands and options."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        parts = [*node.exc.args]
    elif isinstance(node, ast.Call):
        parts = [keyword.value for keyword in node.keywords if keyword.arg == "help"]
    for part in parts:
        yield from (item for item in ast.walk(part) if isinstance(item, ast.Constant) and isinstance(item.value, str))


def in_module(path: str, text: str) -> Iterator[Fault]:
    """Find faults of a module's docstrings and comments, and of the errors and the help that it shows."""
    for node in ast.walk(ast.parse(text)):
        for shown in _shown(node):
            yield from in_text(path, shown.lineno, str(shown.value))
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node, clean=False)
        if docstring is None:
            continue
        start = node.body[0].lineno
        first = docstring.strip().splitlines()[0]
        if _FREE_RELATIVE.match(first):
            yield Fault(path, start, first, "a verb in the imperative, or a noun phrase")
        if _TRAILING_VALUE.match(first):
            yield Fault(path, start, first, "a sentence for the value: 'and return how many'")
        for number, line in enumerate(docstring.splitlines(), start=start):
            yield from in_text(path, number, line)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from in_text(path, token.start[0], token.string)


def pages() -> Iterable[Path]:
    found = [
        *sorted((ROOT / "docs").rglob("*.md")),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    ]
    return [page for page in found if page.name not in GENERATED]


def modules() -> Iterable[Path]:
    found = sorted(path for folder in ("shared", "services") for path in (ROOT / folder).rglob("*.py"))
    return [path for path in found if "langroid" not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def faults() -> list[Fault]:
    """Find the faults of the whole tree."""
    of_pages = [fault for path in pages() for fault in in_page(named(path), path.read_text())]
    return of_pages + [fault for path in modules() for fault in in_module(named(path), path.read_text())]


if __name__ == "__main__":
    found = faults()
    for fault in found:
        print(fault)
    sys.exit(bool(found))
