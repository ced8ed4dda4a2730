"""The list of programs is whole, and its scripts are well formed."""

from __future__ import annotations

import re

from .program import load_programs


def test_there_are_at_least_the_42_programs_that_are_promised() -> None:
    programs = load_programs()

    assert len(programs) >= 42
    assert len({program.path for program in programs}) == len(programs)


def test_every_pattern_is_a_regular_expression() -> None:
    for program in load_programs():
        for pattern in [*program.printed, *(speaker.last for speaker in program.speakers)]:
            re.compile(pattern)


def test_programs_are_chosen_by_a_word_of_their_path() -> None:
    chosen = load_programs(["quick-start/two-agent"])

    assert [program.name for program in chosen] == ["quick-start/two-agent-chat", "quick-start/two-agent-chat-num"]
