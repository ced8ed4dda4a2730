"""The split of recorded stacks by folder."""

from __future__ import annotations

import pytest
from bench.profile.rooms import rooms_of

_CARRIER = "run (threading.py:982);answer (turnwise_responders/responders.py:80)"


def test_a_sample_counts_for_the_innermost_own_frame_with_the_libraries_that_it_calls() -> None:
    found = rooms_of(
        [
            f"{_CARRIER};write (turnwise/record/database/driver.py:40);execute (sqlalchemy/engine/base.py:9) 6",
            f"{_CARRIER};move (turnwise/machine/work.py:12) 3",
            f"{_CARRIER};move (turnwise/machine/work.py:15) 1",
        ]
    )

    assert found.folders == {"turnwise/record/database": 6, "turnwise/machine": 4}
    assert found.table().splitlines() == [
        "10 samples",
        "",
        "  60.0 %  turnwise/record/database",
        "  40.0 %  turnwise/machine",
        "",
        "  60.0 %  turnwise/record/database/driver.py: write",
        "  40.0 %  turnwise/machine/work.py: move",
    ]


def test_threads_that_take_no_turns_are_left_out() -> None:
    found = rooms_of([f"{_CARRIER} 2", "run (threading.py:982);sweep (turnwise_coordinator/sweeper.py:31) 50"])

    assert found.folders == {"turnwise_responders": 2}


def test_a_line_that_is_no_stack_is_an_error() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        rooms_of(["py-spy says something"])
