"""Tests of the tests: whatever protection is taken away, the simulator notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.simulation.broken import SABOTEURS, Saboteur
from tests.simulation.broken_batches import SABOTEURS as OF_BATCHES
from tests.simulation.broken_webhooks import SABOTEURS as OF_WEBHOOKS

from turnwise.testing import Faults, Scenario, Simulator
from turnwise.testing.simulator import simulation


@pytest.fixture(scope="module")
def simulators() -> Iterator[Callable[[Scenario], Simulator]]:
    """The simulator of each scenario, made when it is first asked for."""
    with ExitStack() as stack:
        made: dict[int, Simulator] = {}

        def simulator(scenario: Scenario) -> Simulator:
            if id(scenario) not in made:
                made[id(scenario)] = stack.enter_context(Simulator(scenario))
                made[id(scenario)].run(0)  # what is said without faults is learned before anything is broken
            return made[id(scenario)]

        yield simulator


def noticed_in(simulator: Simulator, saboteur: Saboteur) -> tuple[int, set[str]]:
    """In which schedule something was noticed, 0 if in none, and which promises were broken in it."""
    faults = Faults(**{"until": 15.0, **saboteur.faults})
    settings = {**saboteur.scenario.settings, **saboteur.settings}
    made = replace(saboteur.scenario, at_once=4, faults=lambda random: faults, settings=settings)
    simulator.use(made if saboteur.task is None else replace(made, only=saboteur.task, at_once=1))
    for schedule in range(saboteur.first, saboteur.first + saboteur.schedules):
        found = simulator.run(schedule).violations
        if found:
            return schedule, {violation.promise for violation in found}
    return 0, set()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("saboteur", [*SABOTEURS, *OF_BATCHES, *OF_WEBHOOKS], ids=lambda saboteur: saboteur.name)
def test_a_protection_that_is_taken_away_is_missed(
    simulators: Callable[[Scenario], Simulator], saboteur: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = simulators(saboteur.scenario)
    monkeypatch.setattr(simulation, "_PATIENCE", saboteur.patience)
    with monkeypatch.context() as patches:
        saboteur.takes_away(patches)
        schedule, broken = noticed_in(simulator, saboteur)
    print(f"{saboteur.name}: noticed in schedule {schedule}: {', '.join(sorted(broken))}")
    assert broken & set(saboteur.promises), f"not noticed within {saboteur.schedules} schedules ({broken or 'nothing'})"
    # And it is this that was noticed: with the protection, the same schedules keep every promise.
    assert not simulator.run(schedule).violations
