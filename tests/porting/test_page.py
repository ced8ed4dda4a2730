"""The page of the docs says what was measured, and what was measured keeps what is promised."""

from __future__ import annotations

from .outcome import Compared, Outcome, Results
from .page import PAGE, RESULTS, render
from .program import load_programs

YES, NO, NOT_RUN = Compared(equal=True), Compared(equal=False, why="it is other"), Compared(equal=None, why="no task")


def test_the_page_is_what_the_results_say() -> None:
    assert PAGE.read_text("utf-8") == render(_results()), "run: python -m tests.porting.page"


def test_every_program_of_the_list_was_played() -> None:
    assert [outcome.path for outcome in _results().outcomes] == [program.path for program in load_programs()]


def test_of_42_programs_38_port_and_hold_the_same_conversation() -> None:
    outcomes = _results().outcomes
    good = [outcome for outcome in outcomes if outcome.ports.equal and outcome.script.equal]

    assert len(outcomes) >= 42
    assert len(outcomes) - len(good) <= 4


def test_a_difference_is_on_the_page_with_its_reason() -> None:
    outcome = Outcome(path="basic/x.py", requests=3, ports=YES, script=NO, embedded=NOT_RUN, distributed=NOT_RUN)
    page = render(Results(date="2026-01-02", reference="1", turnwise="2", python="3", outcomes=[outcome]))

    assert "| `basic/x.py` | 3 | yes | **no** | - | - |" in page
    assert "- `basic/x.py`, script: it is other" in page
    assert "- `basic/x.py`, embedded: no task" in page
    assert "| same conversation in a script | 0 of 1 |" in page


def _results() -> Results:
    return Results.model_validate_json(RESULTS.read_text("utf-8"))
