"""The examples of the pages: their Python runs and prints what they say, their commands exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from turnwise.cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / name
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "helm/*/*.md", "services/*/*.md")
    for name in sorted(ROOT.glob(pattern))
]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Z_]+=")


class Block(NamedTuple):
    """A fenced block of a page; `output` is what the page says that it prints, if it says so."""

    page: str
    line: int
    kind: str
    text: str
    output: str | None

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*kinds: str) -> list[Block]:
    return [block for page in PAGES for block in _blocks(page) if block.kind in kinds]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    found = list(_FENCE.finditer(text))
    for match, following in zip_longest(found, found[1:]):
        output = following[2] if following is not None and following[1] == "text" else None
        line = text.count("\n", 0, match.start()) + 1
        yield Block(str(page.relative_to(ROOT)), line, match[1], match[2], output)


def commands() -> list[tuple[str, list[str]]]:
    """Every `turnwise ...` of the pages: where it is, and its words."""
    found = []
    for block in blocks("bash", "console"):
        for line in block.text.replace("\\\n", " ").splitlines():
            if block.kind == "console" and not line.startswith("$ "):
                continue
            words = shlex.split(line.removeprefix("$ ").replace("&&", ";"), comments=True)
            words = words[len(words) - words[::-1].index(";") :] if ";" in words else words
            while words and _ASSIGNMENT.match(words[0]):
                words.pop(0)
            words = words[: words.index("|")] if "|" in words else words
            if words and words[0].rsplit("/", 1)[-1] == "turnwise":
                found.append((block.name, [word for word in words[1:] if word != "&"]))
    return found


# The support desk's page needs a model, and those on clients a server: tests of their own run what they are about.
ELSEWHERE = ("examples/support_desk", "docs/clients.md", "docs/openai.md")
RUNNABLE = [block for block in blocks("python") if not block.page.startswith(ELSEWHERE)]


@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: block.name)
def test_python_on_a_page_runs_and_prints_what_the_page_says(block: Block, tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(block.text)

    ran = subprocess.run(
        [sys.executable, "-W", "error", "snippet.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert block.output is None or ran.stdout == block.output


@pytest.mark.parametrize(("where", "words"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_command_on_a_page_exists_with_its_options(where: str, words: list[str]) -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    context = typer.Context(group)

    command = group.get_command(context, words[0])

    assert command is not None, f"{where}: there is no command {words[0]}"
    command.make_context(words[0], words[1:], parent=context)


def test_a_command_in_running_text_exists() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)

    named = {name for page in PAGES for name in re.findall(r"`turnwise ([a-z][\w-]*)", page.read_text())}

    assert named - set(group.commands) == set()


def test_there_are_commands_and_python_on_the_pages() -> None:
    assert len(commands()) > 10
    assert len(RUNNABLE) > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_file_of_the_repository_finds_it(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []
