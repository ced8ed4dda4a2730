"""The fixtures for pytest: `pytest_plugins = ["turnwise.testing.plugin"]` in a `conftest.py` makes them known.

    def test_my_team_survives(simulate):
        simulate(app, [("triage", "I was charged twice")], schedules=200)

`--simulate-seed=N` repeats one schedule, `--simulate-schedules=N` runs more or fewer than the tests say.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from turnwise.app import App
    from turnwise.testing.simulator.clients import Conversation
    from turnwise.testing.simulator.simulator import Report, Scenario


class Simulate(Protocol):
    """The type of the fixture `simulate`."""

    def __call__(
        self,
        target: App | Scenario,
        conversations: Sequence[Conversation | tuple[str, str]] = (),
        *,
        schedules: int = 200,
        first_seed: int = 0,
        **more: Any,
    ) -> Report: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose schedules."""
    group = parser.getgroup("turnwise")
    group.addoption("--simulate-seed", type=int, default=None, metavar="N", help="run this one schedule of each test")
    group.addoption("--simulate-schedules", type=int, default=None, metavar="N", help="run so many schedules per test")


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """Runs schedules of an application, and fails the test at the first that breaks a promise.

    Called with the application and its conversations (each task and message, or a `Conversation`), or with a
    `Scenario`. `schedules` are run from `first_seed` on; what else is given are fields of a `Scenario`.
    """

    def run(
        target: App | Scenario,
        conversations: Sequence[Conversation | tuple[str, str]] = (),
        *,
        schedules: int = 200,
        first_seed: int = 0,
        **more: Any,
    ) -> Report:
        from turnwise.testing.simulator.simulator import Scenario, Simulator

        seed = request.config.getoption("--simulate-seed")
        count = request.config.getoption("--simulate-schedules") or schedules
        seeds = [seed] if seed is not None else range(first_seed, first_seed + count)
        made = target if isinstance(target, Scenario) else Scenario(app=target, conversations=conversations, **more)
        with Simulator(made) as simulator:
            return simulator.run_many(
                seeds, repeat=f"{shlex.join(['pytest', request.node.nodeid])} --simulate-seed={{seed}}"
            )

    return run
