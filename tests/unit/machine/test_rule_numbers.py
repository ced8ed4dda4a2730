"""The machine says of each of its rules where it is carried out."""

from __future__ import annotations

import re
from pathlib import Path

from tests.rules.rule import rules

import turnwise.machine

MACHINE = Path(turnwise.machine.__file__).parent
# Chapters of docs/rules about what the machine decides.
CHAPTERS = ("WHO", "STEP", "ROUTE", "VALID", "DONE", "SEQ", "LOOP", "RESULT")
_COMMENT = re.compile(r"^\s*# ([A-Z]+-\d+(?:, [A-Z]+-\d+)*)$", re.MULTILINE)


def cited() -> set[str]:
    """The numbers in comments of the machine."""
    texts = [path.read_text(encoding="utf-8") for path in MACHINE.glob("*.py")]
    return {number for text in texts for line in _COMMENT.findall(text) for number in line.split(", ")}


def test_each_number_that_the_machine_cites_is_a_rule() -> None:
    assert cited() - {rule.id for rule in rules()} == set()


def test_each_rule_of_the_machines_chapters_is_cited_in_it() -> None:
    wanted = {rule.id for rule in rules() if rule.id.partition("-")[0] in CHAPTERS}

    assert wanted - cited() == set()
    assert {number.partition("-")[0] for number in wanted} == set(CHAPTERS)


def test_a_file_that_decides_cites_a_rule() -> None:
    values = {"__init__", "actions", "facts", "spec", "state"}
    silent = {path.stem for path in MACHINE.glob("*.py") if not _COMMENT.search(path.read_text(encoding="utf-8"))}

    assert silent == values
