"""The check of words finds what it should, and the glossary is in order."""

from __future__ import annotations

import re

import pytest
from tests.words import ROOT, in_module, in_page


@pytest.mark.parametrize(
    "text",
    ["It can not end.", "An ask is put off.", "## What is kept", "Somebody asks.", "A run goes on.", "It is canceled."],
)
def test_a_page_with_a_word_of_the_list_has_a_fault(text: str) -> None:
    assert len(list(in_page("page.md", text))) == 1


@pytest.mark.parametrize(
    "text", ["`can not`", "## What is it?", "```text\nit can not\n```", "[x](can not)", "a-nobody-b"]
)
def test_code_links_names_and_questions_have_none(text: str) -> None:
    assert list(in_page("page.md", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        '"""What is kept."""',
        '"""Delete old rows; how many."""',
        'def f():\n    """Whether it is."""',
        "x = 1  # nobody reads it\n",
        '"""It\n\ncan not."""',
    ],
)
def test_docstrings_and_comments_are_looked_at(text: str) -> None:
    assert len(list(in_module("module.py", text))) == 1


@pytest.mark.parametrize("text", ['raise Fault(f"{x} can not be")\n', 'Option("--x", help="Nobody reads it.")\n'])
def test_errors_and_help_are_looked_at(text: str) -> None:
    assert len(list(in_module("module.py", text))) == 1


def test_other_strings_are_not() -> None:
    assert list(in_module("module.py", 'x = "it can not"\nraise Fault(x)\n')) == []


def test_the_glossary_is_sorted_and_defines_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs/glossary.md").read_text(), flags=re.MULTILINE)
    assert words == sorted(set(words))
    assert {"run", "step", "turn", "ask", "attempt", "call", "lease", "parked", "deadlock"} <= set(words)
