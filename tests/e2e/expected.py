"""The results with which every way of running is compared."""

from __future__ import annotations

from difflib import unified_diff
from functools import cache

from tests.e2e import in_process
from tests.e2e.scenarios import SCENARIOS, Scenario
from tests.e2e.transcript import Transcript


def scenario_named(name: str) -> Scenario:
    """The scenario of that name."""
    return next(scenario for scenario in SCENARIOS if str(scenario) == name)


@cache
def expected(scenario: Scenario) -> Transcript:
    """The transcript in this process."""
    return in_process.play(scenario)


def assert_same(found: Transcript, wanted: Transcript) -> None:
    """Compare as text first, because a difference of two long texts can be read."""
    difference = "\n".join(
        unified_diff(str(wanted).split("\n"), str(found).split("\n"), "wanted", "found", n=2, lineterm="")
    )
    assert not difference, difference
    assert found == wanted
