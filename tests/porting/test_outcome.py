"""A program ports if it ends as it does with the reference; a script that proves nothing is refused."""

from __future__ import annotations

from typing import Any

from .outcome import conversation, ports, served, unusable
from .play import Played
from .program import Program, Speaker

PROGRAM = Program(path="basic/x.py", speakers=[Speaker(says=["a"])], printed=[r"RESULT: (\w+)"])
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
AT_THE_END_OF_INPUT = 'Traceback ...\n  File "x.py"\nEOFError: EOF when reading a line\n'


def test_the_same_kind_of_error_is_the_same_end() -> None:
    assert ports(_played(1, errors=AT_THE_END_OF_INPUT), _played(1, errors="EOFError: no input\n")).equal
    assert ports(_played(0), _played(1, errors="turnwise.errors.AbsentNameError: none\n")).why == (
        "ends with AbsentNameError, there with success: turnwise.errors.AbsentNameError: none"
    )


def test_a_program_that_had_to_be_stopped_does_not_port() -> None:
    assert ports(_played(0), _played(None)).why == "it does not come to an end"


def test_what_is_printed_has_to_be_equal() -> None:
    found = conversation(PROGRAM, _played(0, output="RESULT: five"), _played(0, output="RESULT: six"))

    assert found.equal is False
    assert found.why == "printed ['six'] against ['five']"


def test_colours_are_no_part_of_what_is_printed() -> None:
    assert conversation(PROGRAM, _played(0), _played(0, output="RESULT: \x1b[32mfive")).equal


def test_an_answer_that_the_script_does_not_have_is_a_difference() -> None:
    assert conversation(PROGRAM, _played(0), _played(0, unscripted=["no speaker"])).why == "no speaker"


def test_a_served_program_has_to_end_as_there() -> None:
    assert served(PROGRAM, _played(0), _played(1, errors="ValueError: x")).equal is False


def test_a_script_that_the_reference_does_not_play_to_its_end_is_refused() -> None:
    assert unusable(PROGRAM, _played(0)) == ""
    assert unusable(PROGRAM, _played(0, left=1)) == "1 answers of the script are never asked for"
    assert unusable(PROGRAM, _played(None)) == "the reference does not come to an end"
    assert unusable(PROGRAM, _played(0, output="nothing")) == r"nothing is printed like RESULT: (\w+)"


def _played(code: int | None, **more: Any) -> Played:
    return Played(**{"code": code, "output": "RESULT: five", "errors": "", "requests": [REQUEST], **more})
