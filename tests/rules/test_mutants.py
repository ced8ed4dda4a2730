"""The rules that are broken on purpose: each change still finds the code that it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mutants import MUTANTS, Mutant

_PACKAGE = Path(__file__).parents[2] / "shared" / "turnwise"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: " ".join(mutant.rules))
def test_the_code_that_a_mutant_changes_stands_there_once(mutant: Mutant) -> None:
    assert (_PACKAGE / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
