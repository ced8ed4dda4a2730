"""A class name means one thing in the whole product."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# Langroid's settings are ours, with the fields that have no effect here.
ON_PURPOSE = {
    "AgentConfig", "AzureConfig", "ChatAgentConfig", "LLMConfig", "MockLMConfig", "OpenAIGPTConfig", "Settings",
}  # fmt: skip


def public_classes() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = defaultdict(set)
    for folder in ("shared", "services"):
        for path in (ROOT / folder).rglob("*.py"):
            if "langroid" in path.parts:
                continue
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].add(path)
    return found


def test_no_class_name_has_two_meanings() -> None:
    twice = {name: sorted(map(str, paths)) for name, paths in public_classes().items() if len(paths) > 1}
    new = {name: paths for name, paths in twice.items() if name not in ON_PURPOSE}
    assert not new, f"class names with several meanings; rename all but one of each: {new}"
