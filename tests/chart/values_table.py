"""The table of values in the chart's README, made of the comments in values.yaml, and the chart's list of settings.

`python -m tests.chart.values_table` writes both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from tests.chart.engine import CHART

from turnwise.processes.setting_names import known_names
from turnwise.processes.settings import ServiceSettings

_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][\w-]*):(?P<rest>.*)$")
# Maps that are passed on to Kubernetes, and explained as one.
_WHOLE = {"resources", "securityContext", "containerSecurityContext"}
README = CHART / "README.md"
SETTINGS = CHART / "files" / "settings.txt"
BEGIN, END = "<!-- values: begin -->", "<!-- values: end -->"


@dataclass(frozen=True, kw_only=True)
class Value:
    """A key of values.yaml, by its path, and the comment above it."""

    path: str
    comment: str
    default: Any
    is_section: bool


def values() -> list[Value]:
    """Every key that has a meaning of its own; what is passed on to Kubernetes as it is counts as one."""
    text = (CHART / "values.yaml").read_text()
    tree = yaml.safe_load(text)
    return list(_walk(text.splitlines(), tree))


def table() -> str:
    """The table in Markdown."""
    lines = ["| value | default | meaning |", "| --- | --- | --- |"]
    for value in values():
        default = "" if value.is_section else f"`{_shown(value.default)}`"
        lines.append(f"| `{value.path}` | {default} | {value.comment} |")
    return "\n".join(lines)


def readme(text: str) -> str:
    """The README with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def setting_names() -> str:
    """The chart's list of the settings that the programs know."""
    return "".join(f"{name}\n" for name in sorted(known_names(ServiceSettings.model_fields)))


def _walk(lines: list[str], tree: dict[str, Any]) -> Iterator[Value]:
    path: list[str] = []
    comment: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("# "))
            continue
        match = _KEY.match(line)
        if match is None:
            comment = []  # a blank line, or an item of a list
            continue
        depth = len(match["indent"]) // 2
        path[depth:] = [match["key"]]
        found: Any = tree
        for part in path:
            found = found.get(part) if isinstance(found, dict) else None
        inside = any(part in _WHOLE for part in path[:-1]) or (path[0] == "workers" and depth > 0)
        if not inside and found is not None:
            is_section = not match["rest"].strip() and isinstance(found, dict) and path[-1] not in _WHOLE
            yield Value(path=".".join(path), comment=" ".join(comment), default=found, is_section=is_section)
        comment = []


def _shown(value: Any) -> str:
    return json.dumps(value).replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(readme(README.read_text()))
    SETTINGS.write_text(setting_names())
