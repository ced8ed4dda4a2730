"""Rows of the page of Langroid's names; `python -m tests.porting.names_page` writes them into the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from turnwise.porting.entries import SETTINGS, entries
from turnwise.porting.table import MODULES

PAGE = Path(__file__).parents[2] / "docs/reference/langroid-names.md"


def accepted_rows() -> list[str]:
    """A table of what is accepted without effect: settings by class, then names."""
    settings = [
        (f"`{kind}({name}=)`", sentence)
        for kind in ("Settings", "ChatAgentConfig", "OpenAIGPTConfig")
        for name, sentence in SETTINGS[kind].items()
    ]
    names = [(f"`{entry.path}`", entry.sentence) for entry in entries() if entry.kind == "accepted"]
    return ["| accepted | because |", "| --- | --- |", *_grouped([*settings, *names])]


def absent_rows() -> list[str]:
    """A table of what does not exist here; a name that several modules have is listed once."""
    paths: dict[tuple[str, str], str] = {}
    for entry in entries():
        if entry.kind == "absent":
            name = entry.path if entry.path in MODULES else entry.path.rpartition(".")[2]
            paths.setdefault((name, entry.sentence), entry.path)
    absent = [(f"`{path}`", sentence) for (_, sentence), path in paths.items()]
    return ["| does not exist | instead |", "| --- | --- |", *_grouped(absent)]


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[str]:
    by_sentence: dict[str, list[str]] = {}
    for name, sentence in pairs:
        by_sentence.setdefault(sentence, []).append(name)
    return [f"| {', '.join(names)} | {sentence} |" for sentence, names in by_sentence.items()]


def filled(page: str) -> str:
    """The page with the rows of the table between its marks."""
    for name, rows in (("accepted", accepted_rows()), ("absent", absent_rows())):
        before, rest = page.split(f"<!-- {name}: begin -->\n")
        after = rest.split(f"<!-- {name}: end -->")[1]
        inside = "\n".join(["", *rows, ""])
        page = f"{before}<!-- {name}: begin -->\n{inside}\n<!-- {name}: end -->{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
