"""Full-text search over the product's documentation, which ships as Markdown files."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading of a page with the text below it; `page` is the file's name without `.md`."""

    page: str
    heading: str
    text: str


def search(query: str, limit: int = 3) -> list[Section]:
    """The sections nearest to the words of `query`, best first; any text is a valid query, none matches nothing.

    The index is built for each search: that takes about a millisecond for a documentation of this size, and leaves
    nothing that threads would have to share.
    """
    words = dict.fromkeys(re.findall(r"\w+", query.lower()))
    if not words:
        return []
    sections = all_sections()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE pages USING fts5 (page, heading, text, tokenize = 'porter unicode61')")
        connection.executemany(
            "INSERT INTO pages (rowid, page, heading, text) VALUES (?, ?, ?, ?)",
            [(number, each.page, each.heading, each.text) for number, each in enumerate(sections)],
        )
        # A quoted word is only ever a word: nothing that a customer wrote becomes query syntax.
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = connection.execute(
            "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 4.0, 4.0, 1.0) LIMIT ?", (wanted, limit)
        ).fetchall()
    return [sections[number] for (number,) in found]


@cache
def all_sections() -> tuple[Section, ...]:
    """Every section of every page, in the order of the files' names."""
    pages = sorted((resources.files("turnwise.demo") / "docs").iterdir(), key=lambda file: file.name)
    return tuple(
        section
        for file in pages
        if file.name.endswith(".md")
        for section in _sections(file.name.removesuffix(".md"), file.read_text(encoding="utf-8"))
    )


def _sections(page: str, markdown: str) -> list[Section]:
    parts = re.split(r"^#+ +(.+)$", markdown, flags=re.MULTILINE)
    # split() gives: what stands before the first heading, then heading and text in turn.
    return [
        Section(page=page, heading=heading.strip(), text=text.strip())
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
        if text.strip()
    ]
