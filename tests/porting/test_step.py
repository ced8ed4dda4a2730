"""The one step changes the word in imports, and nothing else."""

from __future__ import annotations

import pytest

from .step import ported


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("import langroid as lr", "import turnwise.langroid as lr"),
        ("import langroid.language_models as lm", "import turnwise.langroid.language_models as lm"),
        ("    from langroid.agent.task import Task", "    from turnwise.langroid.agent.task import Task"),
        ("from langroid import ChatDocument", "from turnwise.langroid import ChatDocument"),
        ("from langroid_extras import x", "from langroid_extras import x"),
        ('print("import langroid")', 'print("import langroid")'),
    ],
)
def test_a_line_after_the_step(line: str, after: str) -> None:
    assert ported(f"{line}\n") == f"{after}\n"
