"""The time of a process."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from turnwise.base.clock import SYSTEM_CLOCK, Clock

ROOT = Path(__file__).parents[3]
SERVED = [
    *(ROOT / "services" / "coordinator").rglob("*.py"),
    *(ROOT / "services" / "responders").rglob("*.py"),
    *(ROOT / "shared" / "turnwise" / "serving").rglob("*.py"),
]


def test_the_systems_clock_is_a_clock() -> None:
    clock: Clock = SYSTEM_CLOCK
    before = clock.monotonic()
    clock.sleep(0.0)
    assert clock.monotonic() >= before


def test_work_in_the_background_waits_for_a_flag() -> None:
    go, done = SYSTEM_CLOCK.event(), SYSTEM_CLOCK.event()

    def work() -> None:
        if go.wait(20):
            done.set()

    thread = SYSTEM_CLOCK.start("test", work)
    assert thread.is_alive()
    go.set()
    thread.join(20)
    assert done.is_set()


def test_a_flag_that_nobody_raises_is_waited_for_no_longer_than_asked() -> None:
    assert not SYSTEM_CLOCK.event().wait(0.0)


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.stem)
def test_what_serves_takes_its_time_from_the_clock(path: Path) -> None:
    assert imported(path.read_text()) & {"time", "sched"} == set()


def test_an_import_of_time_would_be_seen() -> None:
    assert imported("import time") == {"time"}
    assert imported("from time import sleep") == {"time"}


def imported(source: str) -> set[str]:
    """The modules that a source imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found
