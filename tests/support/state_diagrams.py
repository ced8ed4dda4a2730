"""The diagrams of statuses in docs/architecture.md, drawn from the record's table of transitions.

`python -m tests.support.state_diagrams` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnwise.record.states import ASK_TRANSITIONS, RUN_TRANSITIONS, AskStatus, RunStatus, Transition

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
_KINDS: tuple[tuple[str, type[RunStatus] | type[AskStatus], Sequence[Transition]], ...] = (
    ("runs", RunStatus, RUN_TRANSITIONS),
    ("asks", AskStatus, ASK_TRANSITIONS),
)


def page(text: str) -> str:
    """The page with the diagrams in their places."""
    for name, statuses, transitions in _KINDS:
        begin, end = f"<!-- states of {name}: begin -->\n", f"<!-- states of {name}: end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"{PAGE.name} has no place for the states of {name}; expected {begin.strip()} and {end}")
        text = f"{before}{begin}\n```text\n{diagram(statuses, transitions)}\n```\n\n{end}{after}"
    return text


def diagram(statuses: type[RunStatus] | type[AskStatus], transitions: Sequence[Transition]) -> str:
    """The transitions as text, by where they come from."""
    width = max(len(status) for status in statuses)
    lines = []
    for source in (None, *statuses):
        lines.append(str(source or "(new)"))
        mine = [each for each in transitions if each.source == source]
        lines += [f"  --> {each.target:<{width}}  {each.reason}" for each in mine] or ["  (final)"]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
