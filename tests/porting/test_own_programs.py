"""Programs in the style of the examples run as scripts and served, with the same conversation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .outcome import conversation
from .own_programs import ALL, FOLDER, SUMS
from .play import Side
from .program import Program
from .serving import served_side

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(FOLDER)
    return tmp_path


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_a_program_holds_the_same_conversation_as_a_script_and_served(program: Program, folder: Path) -> None:
    script = Side(python=sys.executable, directory=folder).play(program)
    served = served_side(sys.executable, folder).play(program)

    assert (script.code, script.left, script.unscripted) == (0, 0, []), script.errors
    assert served.code == 0, served.errors
    assert conversation(program, script, served).why == ""


def test_a_program_gets_what_its_human_types_and_its_models_answer(folder: Path) -> None:
    played = Side(python=sys.executable, directory=folder).play(SUMS)

    said = [request["messages"][-1]["content"] for request in played.requests]
    assert said == ["Hello", "2 and 3", "The sum is 5.", "thanks"]
