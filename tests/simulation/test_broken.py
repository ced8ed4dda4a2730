"""Tests of the tests: whatever protection is taken away, the simulator notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.simulation.broken import SABOTEURS, Saboteur
from tests.simulation.team import scenario

from turnwise.testing import Faults, Simulator


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(scenario) as made:
        made.run(0)  # what is said without faults is learned before anything is broken
        yield made


def noticed_after(simulator: Simulator, saboteur: Saboteur) -> tuple[int, set[str]]:
    """In which schedule something was noticed, from 1, and which promises were broken in it."""
    faults = Faults(**{"until": 15.0, **saboteur.faults})
    made = replace(scenario, at_once=4, faults=lambda random: faults, settings=dict(saboteur.settings))
    simulator.use(made if saboteur.task is None else replace(made, only=saboteur.task, at_once=1))
    for number in range(saboteur.schedules):
        found = simulator.run(1_000 + number).violations
        if found:
            return number + 1, {violation.promise for violation in found}
    return 0, set()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("saboteur", SABOTEURS, ids=lambda saboteur: saboteur.name)
def test_a_protection_that_is_taken_away_is_missed(
    simulator: Simulator, saboteur: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patches:
        saboteur.takes_away(patches)
        number, broken = noticed_after(simulator, saboteur)
    print(f"{saboteur.name}: noticed in schedule {number}: {', '.join(sorted(broken))}")
    assert broken & set(saboteur.promises), f"not noticed within {saboteur.schedules} schedules ({broken or 'nothing'})"
    # And it is this that was noticed: with the protection, the same schedules keep every promise.
    assert not simulator.run(1_000 + number - 1).violations
