"""Helpers for tests of agents: scripted models, a simulator of failures, a checker of records.

- `MockLMConfig`, `MockLM`: a model that answers with what a program says.
- `Simulator`, `Scenario`, `Conversation`, `Faults`: an application in an installation in which things go wrong.
- `SimulatedProvider`: answers for models of the application's that would be called over HTTP, also in batches.
- `check`, `History`, `Violation`: what a record of runs promises, and whether it keeps it.
- `turnwise.testing.plugin`: the fixture `simulate` for pytest.

The simulator needs the services: `pip install 'turnwise[all]'`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.models.mock import MockLM, MockLMConfig
    from turnwise.testing.simulator.clients import Conversation
    from turnwise.testing.simulator.faults import QUIET, Faults, chosen
    from turnwise.testing.simulator.promises import Violation, check
    from turnwise.testing.simulator.provider import SimulatedProvider
    from turnwise.testing.simulator.record_copy import History
    from turnwise.testing.simulator.simulation import Outcome
    from turnwise.testing.simulator.simulator import Report, Scenario, SimulationFailed, Simulator

# Where each name is; what is not asked for is not imported.
_PLACES = {
    "Conversation": "turnwise.testing.simulator.clients",
    "Faults": "turnwise.testing.simulator.faults",
    "History": "turnwise.testing.simulator.record_copy",
    "MockLM": "turnwise.models.mock",
    "MockLMConfig": "turnwise.models.mock",
    "Outcome": "turnwise.testing.simulator.simulation",
    "QUIET": "turnwise.testing.simulator.faults",
    "Report": "turnwise.testing.simulator.simulator",
    "Scenario": "turnwise.testing.simulator.simulator",
    "SimulationFailed": "turnwise.testing.simulator.simulator",
    "SimulatedProvider": "turnwise.testing.simulator.provider",
    "Simulator": "turnwise.testing.simulator.simulator",
    "Violation": "turnwise.testing.simulator.promises",
    "check": "turnwise.testing.simulator.promises",
    "chosen": "turnwise.testing.simulator.faults",
}

__all__ = [
    "QUIET",
    "Conversation",
    "Faults",
    "History",
    "MockLM",
    "MockLMConfig",
    "Outcome",
    "Report",
    "Scenario",
    "SimulatedProvider",
    "SimulationFailed",
    "Simulator",
    "Violation",
    "check",
    "chosen",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(place), name)
