"""A scenario with a promise that nobody gives: that no ask is ever claimed twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation import team

from turnwise.testing import Outcome, Violation


def claimed_once(outcome: Outcome) -> Iterator[Violation]:
    """Broken wherever a worker dies with something in hand."""
    for ask in outcome.history.rows("asks"):
        if ask["attempts"] > 1:
            sentence = f"{ask['id']} was claimed {ask['attempts']} times"
            yield Violation(promise="claimed once", sentence=sentence, run=ask["run_id"])


scenario = replace(team.scenario, checks=[*team.scenario.checks, claimed_once])
