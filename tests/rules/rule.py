"""The rules, as docs/rules has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "rules"
NAMES = ("messages", "tools", "tasks", "results", "orchestration", "limits")
_RULE = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* (.*(?:\n  .*)*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One numbered rule, and the page that it is on."""

    id: str
    page: str
    text: str


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, page by page."""
    return tuple(
        Rule(id=found[1], page=page, text=" ".join(found[2].split()))
        for page in NAMES
        for found in _RULE.finditer((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    )
