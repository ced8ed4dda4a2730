"""The table of rules and scenarios: `python -m tests.rules.table --write` writes docs/rules/coverage.md."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from tests.rules.catalogue import scenarios
from tests.rules.rule import NAMES, PAGES, Rule, rules

PAGE = PAGES / "coverage.md"
_RECORDED = Path(__file__).parent / "recorded.json"

_HEAD = """# Rules and the scenarios that hold them

Written by `python -m tests.rules.table --write`; a test holds it to the rules and the scenarios.

*Own* scenarios are in `tests/rules/cases`; each says itself which rules it covers, and is played with `run`, with
`run_async` and served. *Recorded* ones are in `tests/golden/data`. Of these a rule has those that failed when the rule
was broken on purpose (`python -m tests.rules.mutation --write`), at most six.
"""


@cache
def recorded() -> dict[str, list[str]]:
    """Ids of recorded scenarios by rule, as the mutation check found them."""
    found: dict[str, list[str]] = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return found


def own(rule: Rule) -> list[str]:
    """Ids of the own scenarios that cover the rule."""
    return [each.id for each in scenarios() if rule.id in each.covers]


def table() -> str:
    """The page as it has to be."""
    parts = [_HEAD]
    for page in NAMES:
        parts.append(f"\n## {page.capitalize()}\n\n| rule | own scenarios | recorded |\n| --- | --- | --- |\n")
        parts += [_row(rule) for rule in rules() if rule.page == page]
    return "".join(parts)


def _row(rule: Rule) -> str:
    return f"| [{rule.id}]({rule.page}.md) | {', '.join(own(rule))} | {', '.join(recorded().get(rule.id, []))} |\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(table(), encoding="utf-8")
    else:
        print(table())
